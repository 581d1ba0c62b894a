import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as forward } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { inject } from 'vitest';
import type { Certificates } from './certificates.ts';

/** The registry of the test run behind HTTPS and a log-in, as a proxy of a platform has it. */
export async function startSecuredRegistry(
  { ca, server: { cert, key } }: Certificates,
  /** By the header `authorization`; null: by a certificate of the client. */
  letsIn: ((authorization: string) => boolean) | null,
) {
  const target = new URL(inject('stack').registryUrl);
  const [ownCert, ownKey, authority] = [cert, key, ca].map((path) => readFileSync(path));
  const tls = { cert: ownCert, key: ownKey, ca: authority, requestCert: letsIn === null };
  const server = createServer(tls, (request, response) => {
    const { method, headers, url: path } = request;
    if (letsIn?.(headers.authorization ?? '') === false) {
      response.writeHead(401).end();
      return;
    }
    const sent = forward({ host: target.hostname, port: target.port, method, headers, path }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    request.pipe(sent);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

/** Lets in the user `rollcall` with that password. */
export function isUser(password: string): (authorization: string) => boolean {
  return (authorization) => authorization === `Basic ${btoa(`rollcall:${password}`)}`;
}

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as forward } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { inject } from 'vitest';
import type { Certificates } from './certificates.ts';

/** The registry of the test run behind HTTPS, a user name and a password, as a proxy of a platform has it. */
export interface SecuredRegistry extends AsyncDisposable {
  readonly url: string;
}

export async function startSecuredRegistry(
  { server: { cert, key } }: Certificates,
  password: string,
): Promise<SecuredRegistry> {
  const target = new URL(inject('stack').registryUrl);
  const wanted = `Basic ${btoa(`rollcall:${password}`)}`;
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    const { method, headers, url: path } = request;
    if (headers.authorization !== wanted) {
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

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands before the hub's token endpoint, which a process asks before anything else of the hub. */
export interface TokenGate extends AsyncDisposable {
  readonly url: string;
  /** Resolves with what `read` returns at the moment of the next request. */
  next<T>(read: () => T): Promise<T>;
}

export async function openTokenGate(tokenUrl: string): Promise<TokenGate> {
  let onRequest = (): void => undefined;
  const server = createServer((request, response) => {
    onRequest();
    onRequest = () => undefined;
    void (async () => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]);
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const answer = await fetch(tokenUrl, {
        method: 'POST',
        headers: { authorization, 'content-type': type },
        body,
      });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      response.end(await answer.text());
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    next: (read) => new Promise((resolve) => (onRequest = () => resolve(read()))),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

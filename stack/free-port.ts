import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody listens on, below the range that systems take ports of outgoing connections from (RFC 6056;
 * Linux from 32768): otherwise a client that retries against a stopped server can occupy, or even connect to, the very port
 * that the server needs to come back.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if (await canListen(port)) return port;
  }
  throw new Error('no free port between 20000 and 32000 on 127.0.0.1');
}

/** Whether a server could listen on that port of 127.0.0.1 now. */
export function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

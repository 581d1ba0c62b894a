import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody listens on, below the range that systems take ports of outgoing connections from (RFC 6056;
 * Linux from 32768): otherwise a client that retries against a stopped server can occupy, or even connect to, the very port
 * that the server needs to come back. No other call gets the same port while this process lives, in whichever process it is
 * made: a service takes seconds until it listens.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    const reservation = await reserve(port);
    if (reservation === undefined) continue;
    if (await canListen(port)) return port;
    reservation.close();
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

/** Holds the UDP port of the same number, which only one process can, and the system releases when that ends. */
function reserve(port: number): Promise<{ close: () => void } | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => resolve(undefined));
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket.unref()));
  });
}

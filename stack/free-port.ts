import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Returns a free port of 127.0.0.1 below the range for outgoing connections (RFC 6056; Linux: from 32768). A port of that
 * range could be taken by a client that retries against a stopped server, and then the server could not restart.
 * No other call, in any process, returns the same port while this process runs, since a service needs seconds to listen.
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

/** Binds the UDP port of the same number as a lock: only one process can, and the system releases it when that ends. */
function reserve(port: number): Promise<{ close: () => void } | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => resolve(undefined));
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket.unref()));
  });
}

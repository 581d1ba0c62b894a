import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './free-port.ts';

/** A port of 127.0.0.1 behind which another one seems farther away. */
export interface DelayLine {
  readonly port: number;
  stop(): Promise<void>;
}

export interface DelayLineOptions {
  /** The port at which the service listens. */
  readonly target: number;
  readonly delayMs: number;
  /** Default: a free one. */
  readonly port?: number | undefined;
}

/**
 * Relays TCP connections. What arrives is passed on after the delay, in both directions, without a limit on the
 * throughput.
 */
export async function startDelayLine({ target, delayMs, ...options }: DelayLineOptions): Promise<DelayLine> {
  const port = options.port ?? (await freePort());
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const service = connect({ host: '127.0.0.1', port: target, allowHalfOpen: true, noDelay: true });
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      sockets.add(from);
      relay(from, to, delayMs);
      from.once('close', () => sockets.delete(from));
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

/** Timers of the same duration fire in the order in which they were started, so what is relayed keeps its order. */
function relay(from: Socket, to: Socket, delayMs: number): void {
  from.on('data', (chunk) => {
    setTimeout(() => {
      if (to.writable && !to.write(chunk)) from.pause();
    }, delayMs);
  });
  to.on('drain', () => from.resume());
  from.once('end', () => setTimeout(() => to.end(), delayMs));
  // also when the service refuses the connection
  from.once('error', () => setTimeout(() => to.resetAndDestroy(), delayMs));
}

import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A proxy before Redis that can cut connections or hold back data, as a network does. */
export interface FrailProxy {
  readonly url: string;
  /** Ends each connection and takes no new one until `mend`. */
  cut(): void;
  /** Accepts data and silently keeps it until `release`. */
  hold(): void;
  /** Delivers the data that was held, also that of connections that are closed. */
  release(): void;
  /** Lets nothing through on existing connections; new ones work. */
  freeze(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startFrailProxy(redisUrl: string): Promise<FrailProxy> {
  const target = new URL(redisUrl);
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  const frozen = new WeakSet<Socket>();
  let isCut = false;
  let isHolding = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    sockets.add(client);
    client.on('error', () => undefined);
    upstream.on('error', () => undefined);
    client.on('data', (chunk) => {
      if (frozen.has(client)) return;
      if (isHolding) held.push(() => upstream.write(chunk));
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => client.write(chunk));
    upstream.on('close', () => client.destroy());
    client.on('close', () => {
      sockets.delete(client);
      if (isHolding) held.push(() => upstream.end());
      else upstream.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    cut() {
      isCut = true;
      drop();
    },
    freeze() {
      for (const socket of sockets) frozen.add(socket);
    },
    mend() {
      isCut = false;
    },
    hold() {
      isHolding = true;
    },
    release() {
      isHolding = false;
      for (const deliver of held.splice(0)) deliver();
    },
    async close() {
      drop();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

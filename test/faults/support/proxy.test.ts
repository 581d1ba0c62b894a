import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { KAFKA_API, startKafkaProxy } from './proxy-kafka.ts';
import { startProxy, type Proxy, type ProxyOptions } from './proxy.ts';
import { badWeather } from './proxy-weather.ts';
import { freePort } from '../../../stack/free-port.ts';

const disposing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const dispose of disposing.splice(0).toReversed()) await dispose();
});

/** Answers each chunk with itself; `received` holds the chunks. */
interface Echo {
  readonly target: string;
  readonly received: string[];
  readonly ends: string[];
  /** Ends all connections from the server's side. */
  endAll(): void;
}

async function startEcho(): Promise<Echo> {
  const received: string[] = [];
  const ends: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', ({ message }) => ends.push(message));
    socket.on('end', () => ends.push('end'));
    socket.on('data', (chunk) => {
      received.push(chunk.toString('latin1'));
      socket.write(chunk);
    });
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  disposing.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const endAll = (): void => {
    for (const socket of sockets) socket.end();
  };
  return { target: `127.0.0.1:${port}`, received, ends, endAll };
}

async function startBefore(options: ProxyOptions): Promise<Proxy> {
  const proxy = await startProxy(options);
  disposing.push(async () => proxy[Symbol.asyncDispose]());
  return proxy;
}

interface Client {
  readonly socket: Socket;
  readonly heard: () => string;
  readonly end: () => string | null;
}

async function connectTo({ port }: { port: number }): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  let end: string | null = null;
  socket.on('data', (chunk) => (heard += chunk.toString('latin1')));
  socket.on('error', (error: NodeJS.ErrnoException) => (end = error.code ?? error.message));
  socket.on('end', () => (end ??= 'end'));
  disposing.push(async () => void socket.destroy());
  await once(socket, 'connect');
  return { socket, heard: () => heard, end: () => end };
}

it('undisturbed data arrives complete in both directions, and so does its end', async () => {
  const echo = await startEcho();
  const proxy = await startBefore(echo);
  const client = await connectTo(proxy);
  const text = 'x'.repeat(1_000_000);
  client.socket.end(text);
  await vi.waitFor(() => expect(client.heard().length).toBe(text.length), 5_000);
  await vi.waitFor(() => expect(echo.ends).toEqual(['end']), 5_000);
  await vi.waitFor(() => expect(proxy.connections).toBe(0), 5_000);
});

it('cut: connections break, and no new one gets through until the proxy is restored', async () => {
  const echo = await startEcho();
  const proxy = await startBefore(echo);
  const client = await connectTo(proxy);
  client.socket.write('a');
  await vi.waitFor(() => expect(client.heard()).toBe('a'));
  proxy.cut();
  await vi.waitFor(() => expect(client.end()).toBe('ECONNRESET'));
  const refused = connect(proxy.port, '127.0.0.1');
  const [error] = await once(refused, 'error');
  expect(error).toMatchObject({ code: 'ECONNRESET' });
  proxy.mend();
  const republication = await connectTo(proxy);
  republication.socket.write('b');
  await vi.waitFor(() => expect(republication.heard()).toBe('b'));
  expect(echo.received).toEqual(['a', 'b']);
});

it('stall: nothing arrives and no connection breaks; once mended, everything arrives in order', async () => {
  const echo = await startEcho();
  const proxy = await startBefore(echo);
  const client = await connectTo(proxy);
  proxy.stall();
  client.socket.write('a');
  const late = await connectTo(proxy);
  late.socket.write('b');
  client.socket.write('c');
  await delay(150);
  expect([echo.received, client.end(), late.end()]).toEqual([[], null, null]);
  proxy.mend();
  await vi.waitFor(() => expect([client.heard(), late.heard()]).toEqual(['ac', 'b']));
});

it('half-open: nothing arrives on existing connections, not even an end, and new ones work', async () => {
  const echo = await startEcho();
  const proxy = await startBefore(echo);
  const client = await connectTo(proxy);
  client.socket.write('a');
  await vi.waitFor(() => expect(client.heard()).toBe('a'));
  proxy.halfOpen();
  client.socket.write('lost');
  const other = await connectTo(proxy);
  other.socket.write('b');
  await vi.waitFor(() => expect(other.heard()).toBe('b'));
  client.socket.end();
  await delay(100);
  expect(echo.received).toEqual(['a', 'b']);
  expect(echo.ends).toEqual([]);
});

it('a proxy closes although both ends gave up a half-open connection', async () => {
  const echo = await startEcho();
  const proxy = await startProxy(echo);
  const client = await connectTo(proxy);
  client.socket.write('a');
  await vi.waitFor(() => expect(client.heard()).toBe('a'));
  proxy.halfOpen();
  client.socket.end();
  echo.endAll();
  await delay(50);
  await proxy[Symbol.asyncDispose]();
  await vi.waitFor(() => expect(proxy.connections).toBe(0));
});

it('slow: bytes arrive slowly, and none is lost', async () => {
  const echo = await startEcho();
  const proxy = await startBefore(echo);
  const client = await connectTo(proxy);
  proxy.slow({ bytesPerSecond: 20_000, latencyMs: 1 });
  const startedAtMs = performance.now();
  client.socket.write('x'.repeat(6_000));
  await vi.waitFor(() => expect(client.heard().length).toBeGreaterThan(0), 5_000);
  expect(client.heard().length).toBeLessThan(6_000);
  await vi.waitFor(() => expect(client.heard().length).toBe(6_000), 5_000);
  expect(performance.now() - startedAtMs).toBeGreaterThan(300);
});

it('the same seed causes the same trouble, and the proxy is restored at the end', async () => {
  const echo = await startEcho();
  const [one, other] = [await startBefore(echo), await startBefore(echo)];
  const options = { seed: 5, forMs: 300, longestMs: 30 };
  const [first, second] = [await badWeather({ one }, options), await badWeather({ one: other }, options)];
  expect(first.length).toBeGreaterThan(5);
  const common = Math.min(first.length, second.length);
  expect(first.slice(0, common)).toEqual(second.slice(0, common));
  const client = await connectTo(one);
  client.socket.write('a');
  await vi.waitFor(() => expect(client.heard()).toBe('a'));
});

/** A request: length, API key, version, correlation id, body. */
function frame(apiKey: number, correlationId: number, body = ''): Buffer {
  const head = Buffer.alloc(12);
  head.writeInt32BE(8 + body.length, 0);
  head.writeInt16BE(apiKey, 4);
  head.writeInt32BE(correlationId, 8);
  return Buffer.concat([head, Buffer.from(body)]);
}

it('a Kafka request triggers the action before it is forwarded, in whatever pieces it comes', async () => {
  const echo = await startEcho();
  const proxy = await startKafkaProxy({ ...echo, port: await freePort() });
  disposing.push(async () => proxy[Symbol.asyncDispose]());
  const client = await connectTo(proxy);
  const seen: string[] = [];
  const met = proxy.at({ apiKey: KAFKA_API.endTxn, when: 'sent' }, async () => {
    await delay(50);
    seen.push(echo.received.join(''));
  });
  const [produce, endTxn] = [frame(KAFKA_API.produce, 1, 'body'), frame(KAFKA_API.endTxn, 2)];
  const bytes = Buffer.concat([produce, endTxn]);
  for (const byte of bytes) {
    client.socket.write(Buffer.from([byte]));
    await delay(0);
  }
  await met;
  expect(seen).toEqual([produce.toString('latin1')]);
  await vi.waitFor(() => expect(echo.received.join('')).toBe(bytes.toString('latin1')));
});

it('only the matching answer triggers the action, after the server has received the request', async () => {
  // An echoed request looks like an answer whose correlation id is its first four bytes.
  const echo = await startEcho();
  const proxy = await startKafkaProxy({ ...echo, port: await freePort() });
  disposing.push(async () => proxy[Symbol.asyncDispose]());
  const client = await connectTo(proxy);
  const meant = frame(KAFKA_API.produce, 0, 'meant');
  let acted = 0;
  const met = proxy.at(
    {
      apiKey: KAFKA_API.produce,
      when: 'answered',
      isMeant: (request) => request.includes('meant'),
    },
    () => {
      acted += 1;
      expect(echo.received.join('')).toContain('meant');
      proxy.reset();
    },
  );
  client.socket.write(frame(KAFKA_API.produce, 0, 'other'));
  await vi.waitFor(() => expect(client.heard()).toContain('other'));
  expect(acted).toBe(0);
  client.socket.write(meant);
  await met;
  await vi.waitFor(() => expect(client.end()).toBe('ECONNRESET'));
  expect(client.heard()).not.toContain('meant');
});

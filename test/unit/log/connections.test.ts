import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Kafka, logLevel, type RetryOptions } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { patchKafkaJs } from '../../../src/log/kafkajs-patches.ts';

interface Queue {
  push(request: object): void;
  fulfillRequest(answer: object): void;
  maybeThrottle(ms: number): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
}

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as new (
  options: object,
) => Queue;

const BrokerPool = createRequire(import.meta.url)('kafkajs/src/cluster/brokerPool') as new (
  options: object,
) => { withBroker(ask: () => Promise<unknown>): Promise<unknown> };

const REQUEST_TIMEOUT_MS = 1_000;

patchKafkaJs();
patchKafkaJs();

function connectedQueue(): Queue {
  const logger = { debug: () => undefined, warn: () => undefined };
  const queue = new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    clientId: 'test',
    broker: 'test',
    logger,
  });
  queue.scheduleRequestTimeoutCheck();
  return queue;
}

function request(correlationId: number) {
  const entry = { correlationId, apiName: 'Test', resolve: vi.fn<() => void>(), reject: vi.fn<() => void>() };
  return { entry, expectResponse: true, sendRequest: vi.fn<() => void>() };
}

describe('on a clock that the test moves', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('a connection without requests holds no timer, neither before the first nor after the last answer', () => {
    const queue = connectedQueue();
    expect(vi.getTimerCount()).toBe(0);
    queue.push(request(1));
    expect(vi.getTimerCount()).toBe(1);
    queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
    vi.advanceTimersByTime(200);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('a request without an answer times out, also on a connection that was idle before and after a reconnection', () => {
    const queue = connectedQueue();
    queue.push(request(1));
    queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
    vi.advanceTimersByTime(60_000);
    for (const correlationId of [2, 3]) {
      const lost = request(correlationId);
      queue.push(lost);
      vi.advanceTimersByTime(REQUEST_TIMEOUT_MS - 100);
      expect(lost.entry.reject).not.toHaveBeenCalled();
      vi.advanceTimersByTime(300);
      expect(lost.entry.reject).toHaveBeenCalledOnce();
      queue.destroy();
      queue.scheduleRequestTimeoutCheck();
    }
  });

  it('a request that waits while the broker throttles is sent afterwards, although none is in flight', () => {
    const queue = connectedQueue();
    queue.push(request(1));
    queue.maybeThrottle(5_000);
    const waiting = request(2);
    queue.push(waiting);
    queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
    vi.advanceTimersByTime(4_000);
    expect(waiting.sendRequest).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2_000);
    expect(waiting.sendRequest).toHaveBeenCalledOnce();
  });
});

it.each([
  ['what one of them answered', [new Error('no'), 'found'], 'found'],
  ['why the first of them did not, where none did', [new Error('no right'), new Error('no')], 'no right'],
])('a question to all brokers ends with %s', async (_, answers, end) => {
  const left = [...answers];
  const pool = new BrokerPool({
    connectionPoolBuilder: {},
    logger: { namespace: () => ({}) },
  });
  Object.assign(pool, { brokers: { 1: {}, 2: {} }, findBroker: async () => ({}) });
  const asked = pool.withBroker(async () => {
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  expect(await asked.catch((error: Error) => error.message)).toBe(end);
});

/** A server that accepts connections, and does with each what is given. */
async function acceptor(accept: (socket: Socket) => void) {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    accept(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    connections,
    [Symbol.dispose]: () => {
      for (const socket of connections) socket.destroy();
      server.close();
    },
  };
}

/** A client that gives connections and requests up after 200 ms. */
const adminOf = (brokers: string[], retry: RetryOptions) =>
  new Kafka({
    brokers,
    requestTimeout: 200,
    connectionTimeout: 200,
    enforceRequestTimeout: true,
    logLevel: logLevel.NOTHING,
    retry,
  }).admin();

it('a connection that does not answer is closed after one request', async () => {
  const requests: Buffer[] = [];
  using silent = await acceptor((socket) => socket.on('data', (request) => requests.push(request)));
  const admin = adminOf([silent.address], { initialRetryTime: 5, retries: 12 });
  await expect(admin.connect()).rejects.toMatchObject({ name: 'KafkaJSRequestTimeoutError' });
  expect(requests).toHaveLength(1);
  await vi.waitFor(() => expect(silent.connections.map(({ destroyed }) => destroyed)).toEqual([true]));
  await admin.disconnect();
});

it.each<[string, (socket: Socket) => void]>([
  ['stays silent', () => undefined],
  ['closes them', (socket) => socket.destroy()],
])('where one address accepts connections and %s, the next address is tried', async (_, accept) => {
  using first = await acceptor(accept);
  using second = await acceptor(accept);
  const admin = adminOf([first.address, second.address], { initialRetryTime: 1, retries: 1 });
  await expect(admin.connect()).rejects.toMatchObject({ name: expect.stringMatching(/^KafkaJS/) });
  await admin.disconnect();
  expect(first.connections.length).toBeGreaterThan(0);
  expect(second.connections.length).toBeGreaterThan(0);
});

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { decodeBatch, type FetchedBatch } from './fetched-batch.ts';
import { innermost } from './kafka-errors.ts';

const require = createRequire(import.meta.url);
const patched = new WeakSet<object>();

/**
 * Changes what kafkajs 2.2.4 does with connections, requests and batches, in this whole process. Call this before the
 * first connection.
 */
export function patchKafkaJs(): void {
  letIdleConnectionsSleep();
  patch<{ prototype: Connection }>('network/connection', dropSilentConnections);
  patch<{ prototype: BrokerPool }>('cluster/brokerPool', (brokerPool) => {
    tellWhatBrokersAnswered(brokerPool);
    tryEachAddress(brokerPool);
  });
  patch<DecodeBatch>('protocol/recordBatch/v0/decoder', decodeInPlace);
  patch<typeof Encoder>('protocol/encoder', copyOnce);
}

/** Changes what a module exports, once, or puts in its place what `change` returns. */
function patch<Exports extends object>(path: string, change: (exports: Exports) => Exports | void): void {
  const file = `kafkajs/src/${path}`;
  const before = require(file) as Exports;
  const loaded = require.cache[require.resolve(file)];
  if (patched.has(before) || loaded === undefined) return;
  const after = change(before) ?? before;
  patched.add(after);
  loaded.exports = after;
}

interface SentRequest {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<number, SentRequest>;
  readonly requestTimeout: number;
  readonly enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | undefined;
  isConnected(): boolean;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
  scheduleRequestTimeoutCheck: (this: RequestQueue) => void;
  sendSocketRequest: (this: RequestQueue, request: unknown) => void;
}

/** How often kafkajs checks for requests without an answer. */
const CHECK_EVERY_MS = 100;

/**
 * Stops kafkajs from waking each idle connection: once a millisecond for requests that wait, and ten times a second for
 * time-outs, while a process that only polls needs a connection once in many seconds.
 *
 * Its request queue re-arms a timer with a delay of `throttledUntil - now`, which is negative when nothing is
 * throttled. An idle queue needs no timer: every new request schedules the check itself. Likewise nothing can time out
 * while no request is in flight, so the first one starts the check and the check ends with the last one.
 */
export function letIdleConnectionsSleep(): void {
  patch<{ prototype: RequestQueue }>('network/requestQueue', sleepWhileIdle);
}

function sleepWhileIdle({ prototype: queue }: { prototype: RequestQueue }): void {
  const { scheduleCheckPendingRequests, sendSocketRequest } = queue;
  queue.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
  // kafkajs calls this when it has connected.
  queue.scheduleRequestTimeoutCheck = function () {
    stopChecking(this);
  };
  queue.sendSocketRequest = function (request) {
    sendSocketRequest.call(this, request);
    if (!this.enforceRequestTimeout) return;
    this.requestTimeoutIntervalId ??= setInterval(
      () => {
        for (const sent of this.inflight.values())
          if (Date.now() - sent.sentAt > sent.requestTimeout) sent.timeoutRequest();
        if (this.inflight.size === 0 || !this.isConnected()) stopChecking(this);
      },
      Math.min(this.requestTimeout, CHECK_EVERY_MS),
    );
  };
}

function stopChecking(queue: RequestQueue): void {
  clearInterval(queue.requestTimeoutIntervalId);
  queue.requestTimeoutIntervalId = undefined;
}

interface Connection {
  readonly host: string;
  readonly port: number;
  readonly socket: Socket | undefined;
  send: (this: Connection, request: unknown) => Promise<unknown>;
  rejectRequests(error: Error): void;
  disconnect(): Promise<unknown>;
}

type ConnectionClosed = new (message: string, where: { host: string; port: number }) => Error;

/**
 * Makes kafkajs close a connection when a request on it times out, and fail its pending requests.
 *
 * By itself it retries a dozen times on the same connection, which takes minutes; a connection that a firewall dropped
 * stays dead. Java's client also closes the connection when a request times out. The callers decide about a retry,
 * which then uses a new connection.
 */
function dropSilentConnections({ prototype: connection }: { prototype: Connection }): void {
  const { KafkaJSConnectionClosedError: Closed } = require('kafkajs/src/errors') as {
    KafkaJSConnectionClosedError: ConnectionClosed;
  };
  const { send } = connection;
  connection.send = async function (request) {
    try {
      return await send.call(this, request);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'KafkaJSRequestTimeoutError') throw error;
      const { host, port, socket } = this;
      this.rejectRequests(new Closed('No answer in time', { host, port }));
      await this.disconnect();
      socket?.destroy();
      throw Object.assign(error, { retriable: false });
    }
  };
}

type AskBroker = (broker: object) => Promise<unknown>;

interface BrokerPool {
  /** The broker that is asked for all others, by one of the configured addresses. */
  readonly seedBroker: { readonly connectionPool: { readonly host: string; readonly port: number } };
  connect: (this: BrokerPool) => Promise<void>;
  /** Takes the next address. */
  createSeedBroker(): Promise<void>;
  withBroker: (this: BrokerPool, ask: AskBroker) => Promise<unknown>;
}

/** Where no broker answers as wanted, kafkajs only says so, and not what they answered, such as that a right is missing. */
function tellWhatBrokersAnswered({ prototype: pool }: { prototype: BrokerPool }): void {
  const { withBroker } = pool;
  pool.withBroker = async function (ask) {
    const failures: Error[] = [];
    const answer = await withBroker.call(this, (broker) =>
      ask(broker).catch((error: Error) => {
        failures.push(error);
        throw error;
      }),
    );
    const [failure] = failures;
    if (answer === null && failure !== undefined) throw failure;
    return answer;
  };
}

/** A broker that hangs, or a load balancer before one that is gone. */
const ACCEPTED_IN_VAIN = new Set(['KafkaJSRequestTimeoutError', 'KafkaJSConnectionClosedError']);

/**
 * Goes on to the next configured address where a connection was accepted in vain. kafkajs does so only where none can be made,
 * and would come back to the same address for ever, although other brokers are there.
 */
function tryEachAddress({ prototype: pool }: { prototype: BrokerPool }): void {
  const { connect } = pool;
  const addressOf = ({ seedBroker: { connectionPool } }: BrokerPool): string =>
    `${connectionPool.host}:${connectionPool.port}`;
  pool.connect = async function () {
    for (const tried = new Set<string>(); ;) {
      try {
        return await connect.call(this);
      } catch (error) {
        if (!ACCEPTED_IN_VAIN.has(innermost(error).name)) throw error;
        tried.add(addressOf(this));
        await this.createSeedBroker();
        if (tried.has(addressOf(this))) throw error;
      }
    }
  };
}

interface Decoder {
  readonly buffer: Buffer;
  readonly offset: number;
  forward(bytes: number): void;
}

type DecodeBatch = (decoder: Decoder) => Promise<FetchedBatch>;

/**
 * Decodes what kafkajs fetches, for three reasons.
 *
 * First, kafkajs makes a dozen objects of each record, including its headers, even if no code reads them. This costs
 * some 10 µs a record, a fifth of a recovery. Incomplete batches are still left to kafkajs.
 *
 * Second, the cleaner keeps the last batch of each producer even if none of its records remains (KIP-98, "Log
 * Compaction for Transactional Topics"). kafkajs ignores such a batch; if a segment contains nothing else, kafkajs
 * fetches the same offset without end. So this adds a control record at the last offset of a batch without a record
 * there: no consumer receives it, and the position advances.
 *
 * Third, of the codecs that a topic may be compressed with, kafkajs knows only gzip, and bounds nothing.
 */
function decodeInPlace(decodeByKafkaJs: DecodeBatch): DecodeBatch {
  return async (decoder) => {
    const decoded = await decodeBatch(decoder.buffer.subarray(decoder.offset));
    if (decoded !== null) decoder.forward(decoded.bytes);
    const batch = decoded?.batch ?? (await decodeByKafkaJs(decoder));
    const lastOffset = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta));
    const { records, ...batchContext } = batch;
    if (records.at(-1)?.offset === lastOffset) return batch;
    const end = {
      magicByte: 2,
      attributes: 0,
      timestamp: batch.maxTimestamp,
      offset: lastOffset,
      key: null,
      value: null,
      headers: {},
      isControlRecord: true,
      batchContext,
    };
    return { ...batch, records: [...records, end] };
  };
}

/** What is used of kafkajs' encoder. */
export declare class Encoder {
  constructor(bytes?: number);
  readonly buffer: Buffer;
  size: () => number;
  writeInt16: (value: number) => Encoder;
  writeInt32: (value: number) => Encoder;
  writeString: (value: string | null) => Encoder;
  writeEncoder: (this: Encoder, value: Encoder | EncodedRequest) => Encoder | EncodedRequest;
}

/** A request in parts, which are copied once, into what goes to the socket. */
export class EncodedRequest {
  readonly parts: readonly Buffer[];
  #bytes: Buffer | undefined;

  constructor(parts: readonly Buffer[]) {
    this.parts = parts;
  }

  get buffer(): Buffer {
    return (this.#bytes ??= Buffer.concat(this.parts));
  }

  size(): number {
    return this.parts.reduce((all, part) => all + part.length, 0);
  }
}

/**
 * kafkajs copies the body of a request behind its head, and both behind their length. Each of these buffers grows to a
 * power of two, filled with zeros.
 */
function copyOnce({ prototype: encoder }: typeof Encoder): void {
  const { writeEncoder } = encoder;
  encoder.writeEncoder = function (value) {
    if (!(value instanceof EncodedRequest)) return writeEncoder.call(this, value);
    return new EncodedRequest([this.buffer, ...value.parts]);
  };
}

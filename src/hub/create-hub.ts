import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './backoff.ts';
import { createBreaker, DEFAULT_BREAKER_POLICY, type BreakerPolicy } from './breaker.ts';
import type { HubEvent } from './events.ts';
import { findExisting } from './find-existing.ts';
import { findRows } from './find-rows.ts';
import { createHttpClient, type HttpTimeouts } from './http.ts';
import type { Hub, PagingMode } from './hub.ts';
import { PagingMemory } from './paging-memory.ts';
import { createRequests } from './requests.ts';
import { Semaphore } from './semaphore.ts';
import { createTokenSource } from './token.ts';
import { walkPages } from './walk.ts';

export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  connectMs: 10_000,
  headersMs: 10_000,
  bodyMs: 30_000,
  requestMs: 60_000,
};

const DEFAULT_MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

export interface HubOptions {
  /** Host and tenant prefix; paths of collections are below it. */
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Read whenever a token is asked for. */
  readonly clientSecret: () => string;
  readonly clientAuth: 'basic' | 'post';
  /** Empty for none. */
  readonly scope: string;
  readonly pageSize: number;
  readonly paging: PagingMode | 'auto';
  readonly maxConcurrentRequests: number;
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** On the wire and after decompression. */
  readonly maxResponseBytes?: number | undefined;
  readonly retry?: Partial<RetryPolicy> | undefined;
  readonly breaker?: Partial<BreakerPolicy> | undefined;
  /** Wall clock, ms since the epoch. */
  readonly now?: (() => number) | undefined;
  /** Monotonic clock, ms. */
  readonly monotonicNow?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  /** Resolves after so many ms; rejects with the signal's reason when aborted. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  readonly onEvent?: ((event: HubEvent) => void) | undefined;
}

async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** The client of one hub: one pool of connections, one token, one circuit breaker. Closing it breaks off what runs. */
export function createHub(options: HubOptions): Hub & AsyncDisposable {
  const {
    now = () => Date.now(),
    monotonicNow = () => performance.now(),
    random = Math.random,
    sleep = sleepFor,
    onEvent = () => undefined,
    maxConcurrentRequests,
  } = options;
  const baseUrl = new URL(options.baseUrl);
  const http = createHttpClient({
    connections: maxConcurrentRequests,
    timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts },
    maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
  });
  const { tokenUrl, clientId, clientSecret, clientAuth, scope, pageSize, paging } = options;
  const requests = createRequests({
    http,
    tokens: createTokenSource({ tokenUrl, clientId, clientSecret, clientAuth, scope, http, now, onEvent }),
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, ...options.breaker },
      hub: `The hub ${baseUrl.origin}`,
      onEvent,
    }),
    permits: new Semaphore(maxConcurrentRequests),
    tools: { policy: { ...DEFAULT_RETRY_POLICY, ...options.retry }, random, sleep, onEvent },
    now,
    monotonicNow,
    onEvent,
  });
  const memory = new PagingMemory({ now, pageSize });
  const finding = { baseUrl, requests, concurrency: maxConcurrentRequests };
  return {
    readPages: (read) => walkPages({ baseUrl, requests, memory, paging, onEvent }, read),
    findExisting: (find) => findExisting(finding, find),
    findRows: (find) => findRows(finding, find),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
    },
  };
}

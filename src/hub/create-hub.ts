import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './backoff.ts';
import { createBreaker, DEFAULT_BREAKER_POLICY, type BreakerPolicy } from './breaker.ts';
import type { HubEvent } from './hub-events.ts';
import type { CoreApi } from './core-api.ts';
import { findExisting } from './find-existing.ts';
import { findRows } from './find-rows.ts';
import { createHttpClient, type HttpTimeouts } from './http.ts';
import type { Hub, PagingMode } from './hub.ts';
import { PagingMemory } from './paging-memory.ts';
import { readSchedule } from './read-schedule.ts';
import { createRequests, type Requests, type RequestsOptions } from './requests.ts';
import { permitsOfBoth, Semaphore } from './semaphore.ts';
import { createTokenSource } from './token.ts';
import { scanPages } from './scan.ts';

export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  connectMs: 10_000,
  headersMs: 10_000,
  bodyMs: 30_000,
  requestMs: 60_000,
};

const DEFAULT_MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

export interface HubOptions {
  /** Host and tenant prefix, above the paths of collections. */
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Called for every token request, so that a rotated secret takes effect. */
  readonly clientSecret: () => string;
  readonly clientAuth: 'basic' | 'post';
  /** Empty for none. */
  readonly scope: string;
  readonly pageSize: number;
  readonly paging: PagingMode | 'auto';
  readonly maxConcurrentRequests: number;
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Limit on the wire and after decompression. */
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

/** The Core API answers for one student per request: low limits keep a hanging one from blocking its share of requests. */
const CORE_BREAKER_FAILURES = 4;
const CORE_ATTEMPTS = 2;
/** For single rows that chains of absences refer to. */
const SINGLE_ROW_FAILURES = 4;
const SINGLE_ROW_ATTEMPTS = 2;

/**
 * Creates the client of one hub: one connection pool, one token, and separate circuit breakers for the Core API, for
 * single rows and for everything else. Closing the client aborts running requests.
 */
export function createHub(options: HubOptions): Hub & CoreApi & AsyncDisposable {
  const {
    now = () => Date.now(),
    monotonicNow = () => performance.now(),
    random = Math.random,
    sleep = sleepFor,
    onEvent = () => undefined,
    maxConcurrentRequests,
  } = options;
  const baseUrl = new URL(options.baseUrl);
  const coreShare = Math.max(1, Math.floor(maxConcurrentRequests / 2));
  const http = createHttpClient({
    connections: Math.max(maxConcurrentRequests, coreShare + 1),
    timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts },
    maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
  });
  const { tokenUrl, clientId, clientSecret, clientAuth, scope, pageSize, paging } = options;
  const permits = new Semaphore(maxConcurrentRequests);
  const policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
  const common = {
    http,
    tokens: createTokenSource({ tokenUrl, clientId, clientSecret, clientAuth, scope, http, now, onEvent }),
    permits,
    tools: { policy, random, sleep, onEvent },
    now,
    monotonicNow,
    onEvent,
  };
  const requests = createRequests({
    ...common,
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, ...options.breaker },
      hub: `The hub ${baseUrl.origin}`,
      onEvent,
    }),
  });
  const core = createCoreRequests({ common, permits, coreShare, baseUrl, options });
  const reported = new Set<string>();
  const firstTime = (what: string): boolean => !reported.has(what) && reported.add(what).has(what);
  const memory = new PagingMemory({ now, pageSize });
  const finding = { baseUrl, concurrency: maxConcurrentRequests };
  // A hub that serves lists but fails on single rows must not count as down.
  const single = createRequests({
    ...common,
    tools: {
      ...common.tools,
      policy: { ...policy, maxAttempts: Math.min(policy.maxAttempts, SINGLE_ROW_ATTEMPTS) },
    },
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, failures: SINGLE_ROW_FAILURES, ...options.breaker },
      hub: `The hub ${baseUrl.origin}, when asked for single rows,`,
      onEvent: () => undefined,
    }),
  });
  return {
    readPages: (read) => scanPages({ baseUrl, requests, memory, paging, onEvent }, read),
    findExisting: (find) => findExisting({ ...finding, requests }, find),
    findRows: (find) => findRows({ ...finding, requests: single }, find),
    concurrency: coreShare,
    readSchedule: (read) => readSchedule({ baseUrl, requests: core, onEvent, firstTime }, read),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
    },
  };
}

/** If the hub allows one request only, the Core API gets one more beside it: it must never delay the other APIs. */
function createCoreRequests(parts: {
  common: Omit<RequestsOptions, 'breaker'>;
  permits: Semaphore;
  coreShare: number;
  baseUrl: URL;
  options: HubOptions;
}): Requests {
  const { common, permits, coreShare, baseUrl, options } = parts;
  const own = new Semaphore(coreShare);
  const { tools } = common;
  const maxAttempts = Math.min(tools.policy.maxAttempts, CORE_ATTEMPTS);
  return createRequests({
    ...common,
    permits: options.maxConcurrentRequests > coreShare ? permitsOfBoth(own, permits) : own,
    tools: { ...tools, policy: { ...tools.policy, maxAttempts } },
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, failures: CORE_BREAKER_FAILURES, ...options.breaker },
      hub: `The Core API of ${baseUrl.origin}`,
      onEvent: (event) =>
        common.onEvent(
          event.type === 'circuit-opened' || event.type === 'circuit-closed'
            ? { ...event, api: 'core' }
            : event,
        ),
    }),
  });
}

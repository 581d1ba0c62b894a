import { setTimeout as delay } from 'node:timers/promises';
import type { HubEvent } from '../core/hub-events.ts';
import { createBreaker, DEFAULT_BREAKER_POLICY, type BreakerPolicy } from './breaker.ts';
import { findRows } from './find-rows.ts';
import { createHttpClient, type HttpTimeouts } from './http.ts';
import type { Hub, HubSettings, ReadSchedule } from './hub.ts';
import { PagingMemory } from './paging.ts';
import { WAITING_ANSWERS } from './prefetch.ts';
import { readSchedule } from './read-schedule.ts';
import { createRequests, type Requests } from './requests.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry.ts';
import { scanPages } from './scan.ts';
import { Semaphore } from './semaphore.ts';
import { createTokenSource } from './token.ts';

const TIMEOUTS = { connectMs: 10_000, headersMs: 10_000, bodyMs: 30_000 };

/**
 * For requests about one row, that chains of absences refer to, or about one student: a low limit keeps a hanging API from
 * blocking its share of requests.
 */
const SINGLE_ATTEMPTS = 2;

/** What a client does its work with; each may be replaced. */
export interface HubTools {
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
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

interface Kind {
  /** Names what fails in errors. */
  readonly what: string;
  readonly attempts?: number;
  readonly failures?: number;
  readonly permits?: Semaphore;
  readonly onCircuit?: (event: HubEvent) => void;
}

/** The connections to one hub with one token, and requests of several kinds, each with a circuit breaker of its own. */
export function connectHub(settings: HubSettings, tools: HubTools) {
  const { random = Math.random, sleep = sleepFor, onEvent = () => undefined, now = () => Date.now() } = tools;
  const { monotonicNow = () => performance.now() } = tools;
  const { maxConcurrentRequests, maxResponseBytes, requestTimeoutMs } = settings;
  const http = createHttpClient({
    // One for the Core API beside the only one that is allowed.
    connections: Math.max(2, maxConcurrentRequests),
    timeouts: { ...TIMEOUTS, requestMs: requestTimeoutMs, ...tools.timeouts },
    maxResponseBytes,
  });
  const tokens = createTokenSource(settings, { http, now, onEvent });
  const all = new Semaphore(maxConcurrentRequests);
  const policy = { ...DEFAULT_RETRY_POLICY, ...tools.retry };
  const retries = { policy, random, sleep, onEvent };
  return {
    baseUrl: new URL(settings.baseUrl),
    http,
    tokens,
    permits: all,
    retries,
    now,
    onEvent,
    requests({ what, attempts = Infinity, failures, permits = all, onCircuit = onEvent }: Kind): Requests {
      const breaker = { ...DEFAULT_BREAKER_POLICY, ...(failures && { failures }), ...tools.breaker };
      const maxAttempts = Math.min(policy.maxAttempts, attempts);
      return createRequests({
        http,
        tokens,
        permits,
        now,
        monotonicNow,
        onEvent,
        tools: { ...retries, policy: { ...policy, maxAttempts } },
        breaker: createBreaker({ policy: breaker, hub: what, onEvent: onCircuit }),
      });
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** Its Core API has a circuit breaker of its own and at most half of the hub's concurrency, so that it cannot block the other APIs. */
export type TenantHub = Hub & { readonly readSchedule: ReadSchedule } & AsyncDisposable;

/** Creates the client of one hub. Closing it aborts running requests. */
export function createHub(settings: HubSettings, tools: HubTools = {}): TenantHub {
  const { baseUrl, permits, now, onEvent, ...connected } = connectHub(settings, tools);
  const { maxConcurrentRequests, pageSize, paging } = settings;
  const hub = `The hub ${baseUrl.origin}`;
  const requests = connected.requests({ what: hub });
  const single = connected.requests({
    what: `${hub}, when asked for single rows,`,
    attempts: SINGLE_ATTEMPTS,
    // A hub that fails on them alone does not count as down.
    failures: 4,
    onCircuit: () => undefined,
  });
  const coreShare = Math.max(1, Math.floor(maxConcurrentRequests / 2));
  const core = connected.requests({
    what: `The Core API of ${baseUrl.origin}`,
    attempts: SINGLE_ATTEMPTS,
    // If the hub allows one request only, the Core API gets one more beside it: it must never delay the other APIs.
    permits: new Semaphore(coreShare, maxConcurrentRequests > coreShare ? permits : null),
    onCircuit: (event) =>
      onEvent(
        event.type === 'circuit-opened' || event.type === 'circuit-closed'
          ? { ...event, api: 'core' }
          : event,
      ),
  });
  const reported = new Set<string>();
  const firstTime = (what: string): boolean => !reported.has(what) && reported.add(what).has(what);
  const scans = {
    baseUrl,
    requests,
    memory: new PagingMemory({ now, pageSize }),
    paging,
    ignoresTotals: settings.totals === 'ignored',
    onEvent,
    ahead: { pagesAtMost: maxConcurrentRequests, budget: WAITING_ANSWERS },
  };
  return {
    readPages: (read) => scanPages(scans, read),
    findRows: (find) => findRows({ baseUrl, requests: single, concurrency: maxConcurrentRequests }, find),
    readSchedule: (read) => readSchedule({ baseUrl, requests: core, onEvent, firstTime }, read),
    [Symbol.asyncDispose]: connected[Symbol.asyncDispose],
  };
}

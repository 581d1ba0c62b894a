import { setTimeout as delay } from 'node:timers/promises';
import type { HubEvent } from '../core/hub-events.ts';
import { createBreaker, DEFAULT_BREAKER_POLICY, type BreakerPolicy, type CircuitEvent } from './breaker.ts';
import { findRows } from './find-rows.ts';
import { createHttpClient } from './http.ts';
import type { Hub, HubSettings, ReadSchedule } from './hub.ts';
import { pagingMemory } from './paging.ts';
import { WAITING_ANSWERS } from './prefetch-known-pages.ts';
import { readSchedule } from './read-schedule.ts';
import { createRequests, type Requests } from './requests.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './with-retries.ts';
import { scanPages } from './scan.ts';
import { Semaphore } from '../semaphore.ts';
import { createTokenSource } from './token.ts';

/**
 * For requests about one row that an absence refers to, or about one student: a low limit keeps a hanging API from
 * blocking its share of requests.
 */
const SINGLE_ATTEMPTS = 2;

/**
 * After this many scopes in a row without an answer, their sync fails (sync/scope-answers.ts). The circuit for scopes
 * opens only then, too: a few failures must not stop the requests for the other scopes.
 */
const SCOPES_IN_A_ROW = 10;

/** Parts of a client of the hub that a caller may replace. */
export interface HubTools {
  readonly retry?: Partial<RetryPolicy> | undefined;
  readonly breaker?: Partial<BreakerPolicy> | undefined;
  /** Wall clock, ms since the epoch. */
  readonly now?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  /** Resolves after so many ms; rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  readonly onEvent?: ((event: HubEvent) => void) | undefined;
  /** Left out: no other tenant is at the hub's host. */
  readonly host?: HostPermits | undefined;
}

/** Bounds the requests of all tenants of the process to one host: `all` of them, and those of them that go to the Core API. */
export interface HostPermits {
  readonly all: Semaphore;
  readonly core: Semaphore;
}

const UNBOUNDED: HostPermits = { all: new Semaphore(Infinity), core: new Semaphore(Infinity) };

const sleepFor = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal });

interface Kind {
  /** Names, in errors, what failed. */
  readonly what: string;
  readonly maxAttempts?: number;
  readonly failures?: number;
  readonly permits?: Semaphore;
  readonly onCircuit?: (event: CircuitEvent) => void;
}

/**
 * The client of a tenant's hub. The Core API has a circuit breaker of its own and at most half of the hub's
 * concurrency, so that it cannot block the other APIs.
 */
export type TenantHub = Hub & { readonly readSchedule: ReadSchedule } & AsyncDisposable;

/** Creates the client of one hub, with one token. Closing it aborts running requests. */
export function createHub(settings: HubSettings, tools: HubTools = {}): TenantHub {
  const { random = Math.random, sleep = sleepFor, onEvent = () => undefined, now = () => Date.now() } = tools;
  const { host = UNBOUNDED } = tools;
  const { maxConcurrentRequests, maxResponseBytes, requestTimeoutMs, pageSize, paging } = settings;
  const baseUrl = new URL(settings.baseUrl);
  const http = createHttpClient({
    // At least two: if only one request is allowed, the Core API may still send one more.
    connections: Math.max(2, maxConcurrentRequests),
    requestTimeoutMs,
    maxResponseBytes,
  });
  const tokens = createTokenSource(settings, { of: 'hub', http, now, onEvent });
  const all = new Semaphore(maxConcurrentRequests, host.all);
  const retry = { ...DEFAULT_RETRY_POLICY, ...tools.retry };

  /** Requests of one kind, with a circuit breaker of their own. */
  function requestsOf({ what, permits = all, onCircuit = onEvent, ...limits }: Kind): Requests {
    const { failures = DEFAULT_BREAKER_POLICY.failures, maxAttempts = Infinity } = limits;
    const policy = { ...DEFAULT_BREAKER_POLICY, failures, ...tools.breaker };
    const attempts = { ...retry, maxAttempts: Math.min(retry.maxAttempts, maxAttempts) };
    return createRequests({
      http,
      tokens,
      permits,
      now,
      policy: attempts,
      random,
      sleep,
      onEvent,
      breaker: createBreaker({ policy, hub: what, onEvent: onCircuit }),
    });
  }

  const hub = `The hub ${baseUrl.origin}`;
  const requests = requestsOf({ what: hub });
  const nested = requestsOf({
    what: `${hub}, when asked for single classes or afterschools,`,
    failures: SCOPES_IN_A_ROW * retry.maxAttempts,
    onCircuit: () => undefined,
  });
  const single = requestsOf({
    what: `${hub}, when asked for single rows,`,
    maxAttempts: SINGLE_ATTEMPTS,
    // A hub that fails only for single rows does not count as failing.
    failures: 4,
    onCircuit: () => undefined,
  });
  const share = Math.max(1, Math.floor(maxConcurrentRequests / 2));
  const core = requestsOf({
    what: `The Core API of ${baseUrl.origin}`,
    maxAttempts: SINGLE_ATTEMPTS,
    failures: SCOPES_IN_A_ROW * SINGLE_ATTEMPTS,
    // If the hub allows one request only, the Core API may send one more at the same time: it must never delay the
    // other APIs.
    permits: new Semaphore(share, host.core, maxConcurrentRequests > share ? all : host.all),
    onCircuit: (event) => onEvent({ ...event, api: 'core' }),
  });
  const scans = {
    baseUrl,
    findingsOf: pagingMemory({ now, pageSize }),
    paging,
    ignoresTotals: settings.totals === 'ignored',
    onEvent,
    largeTurn: new Semaphore(1),
    ahead: { pagesAtMost: maxConcurrentRequests, budget: WAITING_ANSWERS },
  };
  return {
    readPages: (read) =>
      scanPages({ ...scans, requests: read.parentId === undefined ? requests : nested }, read),
    findRows: (find) => findRows({ baseUrl, requests: single, concurrency: maxConcurrentRequests }, find),
    readSchedule: (read) => readSchedule({ baseUrl, requests: core }, read),
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

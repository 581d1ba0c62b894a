import { setTimeout as delay } from 'node:timers/promises';
import type { HubEvent } from '../core/hub-events.ts';
import { findRows } from './find-rows.ts';
import { createHttpClient, type HttpTimeouts } from './http.ts';
import type { Hub, HubSettings, ReadSchedule } from './hub.ts';
import { PagingMemory } from './paging.ts';
import { WAITING_ANSWERS } from './prefetch.ts';
import { readSchedule } from './read-schedule.ts';
import { createRequests } from './requests.ts';
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

export type TenantHub = Hub & { readonly readSchedule: ReadSchedule } & AsyncDisposable;

/** Creates the client of one hub, with one token. Closing it aborts running requests. */
export function createHub(settings: HubSettings, tools: HubTools = {}): TenantHub {
  const { random = Math.random, sleep = sleepFor, onEvent = () => undefined, now = () => Date.now() } = tools;
  const { monotonicNow = () => performance.now() } = tools;
  const { maxConcurrentRequests, maxResponseBytes, requestTimeoutMs, pageSize, paging } = settings;
  const baseUrl = new URL(settings.baseUrl);
  const http = createHttpClient({
    connections: maxConcurrentRequests,
    timeouts: { ...TIMEOUTS, requestMs: requestTimeoutMs, ...tools.timeouts },
    maxResponseBytes,
  });
  const policy = { ...DEFAULT_RETRY_POLICY, ...tools.retry };
  const retries = { policy, random, sleep, onEvent };
  const tokens = createTokenSource(settings, { http, now, onEvent });
  const permits = new Semaphore(maxConcurrentRequests);
  const connection = { http, tokens, permits, now, monotonicNow, onEvent };
  const requests = createRequests({ ...connection, tools: retries });
  const maxAttempts = Math.min(policy.maxAttempts, SINGLE_ATTEMPTS);
  const single = createRequests({ ...connection, tools: { ...retries, policy: { ...policy, maxAttempts } } });
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
    readSchedule: (read) => readSchedule({ baseUrl, requests: single }, read),
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

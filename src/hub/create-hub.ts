import { DEFAULT_RETRY_POLICY } from './backoff.ts';
import { createBreaker, DEFAULT_BREAKER_POLICY } from './breaker.ts';
import { findRows } from './find-rows.ts';
import { createHttpClient, type HttpTimeouts } from './http.ts';
import type { Hub } from './hub.ts';
import { withDefaults, type HubSettings, type HubTools } from './hub-settings.ts';
import { PagingMemory } from './paging-memory.ts';
import { WAITING_ANSWERS } from './prefetch.ts';
import { readSchedule, type ReadSchedule } from './read-schedule.ts';
import { createRequests, type Requests, type RequestsOptions } from './requests.ts';
import { permitsOfBoth, Semaphore } from './semaphore.ts';
import { createTokenSource } from './token.ts';
import { scanPages } from './scan.ts';

export const DEFAULT_TIMEOUTS: Omit<HttpTimeouts, 'requestMs'> = {
  connectMs: 10_000,
  headersMs: 10_000,
  bodyMs: 30_000,
};

/** The Core API answers for one student per request: a low limit keeps a hanging one from blocking its share of requests. */
const CORE_ATTEMPTS = 2;
/** For single rows that chains of absences refer to. */
const SINGLE_ROW_FAILURES = 4;
const SINGLE_ROW_ATTEMPTS = 2;

/** Its Core API has a circuit breaker of its own and at most half of the hub's concurrency, so that it cannot block the other APIs. */
export type TenantHub = Hub & { readonly readSchedule: ReadSchedule } & AsyncDisposable;

/**
 * Creates the client of one hub: one connection pool, one token, and separate circuit breakers for the Core API, for
 * single rows and for everything else. Closing the client aborts running requests.
 */
export function createHub(settings: HubSettings, tools: HubTools = {}): TenantHub {
  const { now, monotonicNow, random, sleep, onEvent, ...policies } = withDefaults(tools);
  const { maxConcurrentRequests, maxResponseBytes, requestTimeoutMs, pageSize, paging } = settings;
  const ignoresTotals = settings.totals === 'ignored';
  const baseUrl = new URL(settings.baseUrl);
  const coreShare = Math.max(1, Math.floor(maxConcurrentRequests / 2));
  const http = createHttpClient({
    connections: Math.max(maxConcurrentRequests, coreShare + 1),
    timeouts: { ...DEFAULT_TIMEOUTS, requestMs: requestTimeoutMs, ...policies.timeouts },
    maxResponseBytes,
  });
  const permits = new Semaphore(maxConcurrentRequests);
  const policy = { ...DEFAULT_RETRY_POLICY, ...policies.retry };
  const common = {
    http,
    tokens: createTokenSource(settings, { http, now, onEvent }),
    permits,
    tools: { policy, random, sleep, onEvent },
    now,
    monotonicNow,
    onEvent,
  };
  const requests = createRequests({
    ...common,
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, ...policies.breaker },
      hub: `The hub ${baseUrl.origin}`,
      onEvent,
    }),
  });
  const core = createCoreRequests({
    common,
    maxConcurrentRequests,
    coreShare,
    baseUrl,
    breaker: policies.breaker,
  });
  const reported = new Set<string>();
  const firstTime = (what: string): boolean => !reported.has(what) && reported.add(what).has(what);
  const memory = new PagingMemory({ now, pageSize });
  const ahead = { pagesAtMost: maxConcurrentRequests, budget: WAITING_ANSWERS };
  const finding = { baseUrl, concurrency: maxConcurrentRequests };
  // A hub that serves lists but fails on single rows must not count as down.
  const single = createRequests({
    ...common,
    tools: {
      ...common.tools,
      policy: { ...policy, maxAttempts: Math.min(policy.maxAttempts, SINGLE_ROW_ATTEMPTS) },
    },
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, failures: SINGLE_ROW_FAILURES, ...policies.breaker },
      hub: `The hub ${baseUrl.origin}, when asked for single rows,`,
      onEvent: () => undefined,
    }),
  });
  return {
    readPages: (read) =>
      scanPages({ baseUrl, requests, memory, paging, ignoresTotals, onEvent, ahead }, read),
    findRows: (find) => findRows({ ...finding, requests: single }, find),
    readSchedule: (read) => readSchedule({ baseUrl, requests: core, onEvent, firstTime }, read),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
    },
  };
}

/** If the hub allows one request only, the Core API gets one more beside it: it must never delay the other APIs. */
function createCoreRequests(parts: {
  common: Omit<RequestsOptions, 'breaker'>;
  maxConcurrentRequests: number;
  coreShare: number;
  baseUrl: URL;
  breaker: HubTools['breaker'];
}): Requests {
  const { common, maxConcurrentRequests, coreShare, baseUrl } = parts;
  const own = new Semaphore(coreShare);
  const { tools } = common;
  const maxAttempts = Math.min(tools.policy.maxAttempts, CORE_ATTEMPTS);
  return createRequests({
    ...common,
    permits: maxConcurrentRequests > coreShare ? permitsOfBoth(own, common.permits) : own,
    tools: { ...tools, policy: { ...tools.policy, maxAttempts } },
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, ...parts.breaker },
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

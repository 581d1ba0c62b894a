import { setTimeout as delay } from 'node:timers/promises';
import type { BreakerPolicy } from './breaker.ts';
import type { RetryPolicy } from './backoff.ts';
import type { HttpTimeouts } from './http.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { PagingMode } from '../core/hub-events.ts';

/** What the configuration says of a hub. */
export interface HubSettings {
  /** Host and tenant prefix, above the paths of collections. */
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Revealed for every token request, so that a rotated secret takes effect. */
  readonly clientSecret: { reveal(): string };
  readonly clientAuth: 'basic' | 'post';
  /** Empty for none. */
  readonly scope: string;
  readonly pageSize: number;
  readonly paging: PagingMode | 'auto';
  /** `ignored`: the totals of scans are not told. */
  readonly totals?: 'compared' | 'ignored' | undefined;
  readonly maxConcurrentRequests: number;
  readonly requestTimeoutMs: number;
  /** Limit on the wire and after decompression. */
  readonly maxResponseBytes: number;
}

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

export function withDefaults({ now, monotonicNow, random, sleep, onEvent, ...policies }: HubTools) {
  return {
    ...policies,
    now: now ?? (() => Date.now()),
    monotonicNow: monotonicNow ?? (() => performance.now()),
    random: random ?? Math.random,
    sleep: sleep ?? sleepFor,
    onEvent: onEvent ?? (() => undefined),
  };
}

import { pauseMs, type Backoff } from '../backoff.ts';
import type { HubEvent, RequestTarget } from '../core/hub-events.ts';
import { HubError } from './hub-error.ts';

export interface RetryPolicy extends Backoff {
  /** Number of attempts, including the first. */
  readonly maxAttempts: number;
  /** Upper bound for a `Retry-After`. */
  readonly retryAfterCapMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxAttempts: 7,
  firstMs: 500,
  longestMs: 30_000,
  retryAfterCapMs: 300_000,
};

/**
 * Returns the wait before retry number `retry` (from 1), ms: full jitter, a random time
 * between 0 and the back-off's pause (AWS Architecture Blog, "Exponential Backoff And Jitter"),
 * but at least the hub's `Retry-After`.
 */
function retryDelayMs({ policy, random }: RetryTools, retry: number, { retryAfterMs }: HubError): number {
  const floorMs = Math.min(policy.retryAfterCapMs, retryAfterMs ?? 0);
  return Math.max(floorMs, Math.floor(random() * pauseMs(policy, retry)));
}

/** `Retry-After` as ms from now: seconds or an HTTP-date (RFC 9110 10.2.3); undefined when absent or unreadable. */
export function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  const text = value.trim();
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const atMs = parseHttpDate(text);
  return atMs === null ? undefined : Math.max(0, atMs - nowMs);
}

/** An HTTP-date as ms since the epoch; null when it is absent or unreadable. */
export function parseHttpDate(text: string | null): number | null {
  // Date.parse accepts far too much as a date.
  const atMs = text !== null && /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}

/** Waiting and randomness, injected so that tests do not wait. */
export interface RetryTools {
  readonly policy: RetryPolicy;
  readonly random: () => number;
  /** Resolves after so many ms; rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent: (event: HubEvent) => void;
}

/**
 * Repeats `attempt` while its failures are retryable (spec 7 rule 1), with at most `policy.maxAttempts` attempts.
 * `onFailure` is called with each such failure before the wait. If it returns true, it has changed the request: then
 * the next attempt follows at once, and the count starts again. Throws the last failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  options: {
    tools: RetryTools;
    target: RequestTarget;
    signal: AbortSignal;
    onFailure?: ((error: HubError) => boolean) | undefined;
  },
): Promise<T> {
  const { tools, target, signal, onFailure } = options;
  for (let retry = 1; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HubError) || !error.retryable) throw error;
      if (onFailure?.(error) === true) {
        retry = 0;
        continue;
      }
      if (retry >= tools.policy.maxAttempts) throw error;
      const delayMs = retryDelayMs(tools, retry, error);
      tools.onEvent({ type: 'request-retried', target, code: error.code, retry, delayMs });
      await tools.sleep(delayMs, signal).catch(() => signal.throwIfAborted());
    }
  }
}

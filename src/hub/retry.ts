import { retryDelayMs, type RetryPolicy } from './backoff.ts';
import type { HubEvent, RequestTarget } from '../core/hub-events.ts';
import { HubError } from './hub-error.ts';

/** Waiting and randomness, injected so that tests do not wait. */
export interface RetryTools {
  readonly policy: RetryPolicy;
  readonly random: () => number;
  /** Resolves after so many ms; rejects with the signal's reason when aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent: (event: HubEvent) => void;
}

/**
 * Repeats `attempt` while its failures are retryable (spec 7 rule 1), with at most `policy.maxAttempts` attempts.
 * `onFailure` gets every such failure before the wait. It returns true if it changed the request: then the next attempt
 * follows at once, and the count starts again.
 * Throws the last failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  options: {
    tools: RetryTools;
    target: RequestTarget;
    signal: AbortSignal;
    onFailure?: (error: HubError) => boolean;
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
      const delayMs = retryDelayMs({
        policy: tools.policy,
        retry,
        retryAfterMs: error.retryAfterMs,
        random: tools.random,
      });
      tools.onEvent({ type: 'request-retried', target, code: error.code, retry, delayMs });
      await tools.sleep(delayMs, signal);
    }
  }
}

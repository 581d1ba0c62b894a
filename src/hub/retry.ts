import { retryDelayMs, type RetryPolicy } from './backoff.ts';
import type { HubEvent, RequestTarget } from './events.ts';
import { HubError } from './hub-error.ts';

/** What waits and what is by chance: injected, so that tests need no time. */
export interface RetryTools {
  readonly policy: RetryPolicy;
  readonly random: () => number;
  /** Resolves after so many ms; rejects with the signal's reason when aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onEvent: (event: HubEvent) => void;
}

/**
 * Repeats `attempt` while its failures may pass (spec 7 rule 1), at most `policy.maxAttempts` times
 * in all. `onFailure` hears of every such failure, before the wait; with true it says that it has made another request
 * of it, which is sent at once and counted anew.
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

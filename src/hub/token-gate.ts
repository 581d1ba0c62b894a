import type { Backoff } from '../backoff.ts';
import { DEFAULT_RETRY_POLICY } from './with-retries.ts';
import { HubError } from './hub-error.ts';

/** Wrong credentials get a long wait: many servers lock a client that keeps trying. */
const REFUSED: Backoff = { firstMs: 15_000, longestMs: 600_000 };
const IN_TROUBLE: Backoff = { firstMs: 500, longestMs: 60_000 };

/** The longest wait within a request. For a longer one the sync fails, and its own retry waits. */
const PATIENCE_MS = 30_000;

/** An answer without a code of RFC 6749 may be this server's own form of a refusal. */
function waitsAfter({ status }: HubError): Backoff {
  return status === 400 || status === 401 || status === 403 ? REFUSED : IN_TROUBLE;
}

const ASKS_AGAIN = 'Rollcall tries a corrected secret at once. It does not try this secret again before';

interface Failure {
  readonly error: HubError;
  /** The credentials that the endpoint refused, as a digest; null: the endpoint failed for another reason. */
  readonly refused: string | null;
  /** The wait that follows from the number of failures in a row. */
  readonly waitMs: number;
  /** `waitMs`, or the endpoint's `Retry-After` if that is longer. */
  readonly gateMs: number;
  readonly untilMs: number;
}

/** Returns the failure's error with the remaining wait as `retryAfterMs`. */
function withWait(failure: Failure, retryAfterMs: number): HubError {
  const { code, message, remedy, retryable, status, cause } = failure.error;
  const askedAgain = ` ${ASKS_AGAIN} ${new Date(failure.untilMs).toISOString()}.`;
  return new HubError(code, message, {
    remedy: code === 'HUB_TOKEN_REFUSED' ? remedy + askedAgain : remedy,
    retryable: retryable && failure.waitMs <= PATIENCE_MS,
    retryAfterMs,
    status: status ?? undefined,
    cause,
  });
}

/**
 * Spaces out requests to the token endpoint after failures: the wait grows with the failures in a row, is at least the
 * endpoint's `Retry-After`, and applies to all callers. After a refusal, it applies to the refused credentials alone.
 */
export function tokenGate(now: () => number) {
  let last: Failure | null = null;
  return {
    /** Throws the last failure, with the remaining wait, while the gate is shut. `credentials`: a digest of those in use. */
    requireOpen(credentials: string): void {
      if (last === null) return;
      if (last.refused !== null && last.refused !== credentials) {
        last = null;
        return;
      }
      const remainingMs = last.untilMs - now();
      // More than the full wait remains only if the clock was set back.
      if (remainingMs > 0 && remainingMs <= last.gateMs) throw withWait(last, remainingMs);
    },

    /** Shuts the gate after a failure of the endpoint; returns the failure with the wait. `credentials`: a digest of those sent. */
    shut(error: HubError, credentials: string): HubError {
      const backoff = waitsAfter(error);
      const { firstMs, longestMs } = backoff;
      const waitMs = Math.min(longestMs, Math.max(firstMs, 2 * (last?.waitMs ?? 0)));
      const askedMs = Math.min(DEFAULT_RETRY_POLICY.retryAfterCapMs, error.retryAfterMs ?? 0);
      const gateMs = Math.max(waitMs, askedMs);
      const refused = backoff === IN_TROUBLE ? null : credentials;
      last = { error, refused, waitMs, gateMs, untilMs: now() + gateMs };
      return withWait(last, gateMs);
    },

    /** Opens the gate after the endpoint has issued a token. */
    open(): void {
      last = null;
    },
  };
}

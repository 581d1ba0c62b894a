import { SegmentRolls } from '../core/segment-rolls.ts';
import { RollcallError } from '../errors.ts';
import { jitteredPauseMs, type Backoff } from '../retry-policy.ts';
import type { TransactionSizes } from '../session/add-runner.ts';
import { openSession, type TenantSession } from '../session/open-session.ts';
import { Semaphore } from '../hub/semaphore.ts';
import { rollSegments } from '../session/roll-segments.ts';
import type { TenantParts } from '../session/tenant-parts.ts';
import { watchTopics } from '../session/watch-topics.ts';

const BETWEEN_SESSIONS: Backoff = { firstMs: 1_000, longestMs: 30_000 };

/** Tenants to open at the same time: this mostly waits for Kafka, so a higher number would not be faster. */
const OPENINGS_AT_ONCE = 10;
/** An opening that takes longer, such as the rebuild of a large index, no longer delays the next tenant. */
const LONG_OPENING_MS = 30_000;

/**
 * Opens tenants (topics, schemas, take-over, recovery) a few at a time in the order of their requests, so that hundreds of
 * them do not overload Kafka, registry and Redis at once, and then mistake the load for an outage. No time limit of an
 * opening starts before its turn.
 */
export class OpeningQueue {
  readonly #turns = new Semaphore(OPENINGS_AT_ONCE);

  /** Rejects with the error of `open`, or with the signal's reason when it aborts before the turn. */
  async run<T>(open: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.#turns.acquire(signal);
    const isLong = setTimeout(release, LONG_OPENING_MS);
    try {
      return await open();
    } finally {
      clearTimeout(isLong);
      release();
    }
  }
}

/**
 * Mirrors a tenant until the signal aborts. Every failure of log or index has the same cure: a new session takes the
 * tenant over, recovers and continues. Throws only errors that need a person: lost ownership, an incompatible topic or
 * schema.
 */
export async function runTenant(
  parts: TenantParts,
  options: {
    signal: AbortSignal;
    onSession?: ((session: TenantSession | null) => void) | undefined;
    /** Shared by all tenants of a process. If left out, the tenant is opened at once. */
    openings?: OpeningQueue | undefined;
  },
): Promise<void> {
  const { signal, openings } = options;
  const { now, random, sleep } = parts.runtime;
  // Kept for all sessions, so that frequent new sessions do not append end markers each time.
  const rolls = new SegmentRolls();
  const sizes: TransactionSizes = new Map();
  for (let failures = 0; !signal.aborted;) {
    const ending = new AbortController();
    const both = AbortSignal.any([signal, ending.signal]);
    let startedAtMs = now();
    const open = (): Promise<TenantSession> => {
      startedAtMs = now();
      return openSession(parts, both, sizes);
    };
    try {
      const session = await (openings?.run(open, both) ?? open());
      parts.emit({ type: 'session-opened' });
      options.onSession?.(session);
      const loops = [...session.runners.values()].map(async (runner) => runner.loop(both));
      loops.push(watchTopics(parts, session.writers, both));
      loops.push(rollSegments(parts, { rolls, writers: session.writers, signal: both }));
      try {
        await Promise.all(loops);
      } finally {
        // From now on requests wait for the next session.
        options.onSession?.(null);
        ending.abort(
          new RollcallError('INTERNAL', `the session of tenant ${parts.tenantId} is ending`, {
            remedy: 'Rollcall opens a new session by itself.',
          }),
        );
        await Promise.allSettled(loops);
      }
    } catch (thrown) {
      if (signal.aborted) break;
      // What waited for the transaction that failed may report before it does (KAFKA_NOT_SENT).
      const { cause } = thrown as Error;
      const error = cause instanceof RollcallError ? cause : thrown;
      if (isFinal(error)) throw error;
      // A session that opens and fails at once does not reset the pause: this spares hub and Kafka.
      failures = now() - startedAtMs > BETWEEN_SESSIONS.longestMs ? 1 : failures + 1;
      const retryInMs = jitteredPauseMs(BETWEEN_SESSIONS, failures, random);
      parts.emit({ type: 'session-failed', error, retryInMs });
      await sleep(retryInMs, signal).catch(() => undefined);
    }
  }
}

/**
 * Whether a new session would not help: another process is newer, or the content of Kafka does not fit this program.
 */
function isFinal(error: unknown): boolean {
  return (
    error instanceof RollcallError &&
    (error.code === 'OWNERSHIP_LOST' ||
      error.code === 'KAFKA_TOPIC_MISMATCH' ||
      error.code === 'SCHEMA_INCOMPATIBLE')
  );
}

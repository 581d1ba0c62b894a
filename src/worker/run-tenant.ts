import { SegmentRolls } from '../core/segment-rolls.ts';
import { RollcallError } from '../errors.ts';
import { jitteredPauseMs, type Backoff } from '../retry-policy.ts';
import type { TransactionSizes } from '../session/add-runner.ts';
import { openSession, type TenantSession } from '../session/open-session.ts';
import type { OpeningQueue } from './opening-queue.ts';
import { rollSegments } from '../session/roll-segments.ts';
import type { TenantParts } from '../session/tenant-parts.ts';
import { watchTopics } from '../session/watch-topics.ts';

const BETWEEN_SESSIONS: Backoff = { firstMs: 1_000, longestMs: 30_000 };

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

import { leavesSessionWhole } from '../errors.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { CollectionProgress } from '../table/collection-progress.ts';
import type { Tenant } from '../table/tenant.ts';
import { suffixOf } from '../recovery/topic-ends.ts';

interface RollOptions {
  /** When each topic last got end markers, ms since the epoch. It outlives the session, so that sessions that fail soon do not append more. */
  readonly markedAtMs: Map<TopicSuffix, number>;
  readonly writers: ReadonlyMap<
    CollectionName,
    { readonly committed: Pick<CollectionProgress, 'last' | 'offsets'> }
  >;
}

const RETRY_MS = 10_000;
/** A setting that was lowered takes effect within a day. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;
/** An append rolls a segment only when the segment is older than the interval; an equal age is not enough. */
const BEYOND_INTERVAL_MS = 1_000;

/**
 * Lets compaction reach removed data in partitions that are not written to any more (invariant 13, ADR 2). Kafka compacts
 * closed segments only, and closes the active segment only on an append. So each partition with data gets one end marker
 * per interval: the second marker after a change closes its segment, and later ones let compaction delete the tombstone as
 * well. Rejects with errors that require a new session; ends with the signal.
 */
export async function rollSegments(
  tenant: Tenant,
  { signal, ...options }: RollOptions & { readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const pauseMs = await markDue(tenant, options).catch((error: unknown) => {
      // The next commit will show that Kafka cannot be reached; the markers can wait.
      if (!leavesSessionWhole(error) && !signal.aborted) throw error;
      return RETRY_MS;
    });
    await tenant.runtime.sleep(Math.min(pauseMs, LONGEST_PAUSE_MS), signal).catch(() => undefined);
  }
}

/** Appends the end markers that are due. Returns the time until the next ones are, ms. */
async function markDue({ log, runtime }: Tenant, { markedAtMs, writers }: RollOptions): Promise<number> {
  const written = writtenPartitions(writers);
  if (written.size === 0) return RETRY_MS;
  const intervals = await log.rollIntervals([...written.keys()]);
  const untilDueMs = (topic: TopicSuffix): number => {
    const [nowMs, lastMs] = [runtime.now(), markedAtMs.get(topic)];
    // A time in the future means that the clock was set back since.
    if (lastMs === undefined || lastMs > nowMs) return 0;
    return Math.max(0, lastMs + (intervals.get(topic) ?? 0) + BEYOND_INTERVAL_MS - nowMs);
  };
  const due = [...written].filter(([topic]) => untilDueMs(topic) === 0);
  if (due.length > 0) await log.markEnds(new Map(due.map(([topic, partitions]) => [topic, [...partitions]])));
  for (const [topic] of due) markedAtMs.set(topic, runtime.now());
  return Math.min(...[...written.keys()].map(untilDueMs));
}

/** The partitions with data, by topic. */
function writtenPartitions(writers: RollOptions['writers']): Map<TopicSuffix, Set<number>> {
  const topics = new Map<TopicSuffix, Set<number>>();
  for (const { committed } of writers.values()) {
    for (const name of Object.keys(committed.offsets)) {
      const partitions = topics.get(suffixOf(name)) ?? new Set<number>();
      topics.set(suffixOf(name), partitions.add(Number(name.slice(name.lastIndexOf('/') + 1))));
    }
    if (committed.last !== null) topics.set('progress', new Set([0]));
  }
  return topics;
}

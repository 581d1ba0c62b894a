import type { SegmentRolls, WrittenTopic } from '../core/segment-rolls.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { CollectionProgress } from '../table/collection-progress.ts';
import type { Tenant } from '../table/tenant.ts';
import { suffixOf } from '../recovery/topic-ends.ts';

type Writers = ReadonlyMap<
  CollectionName,
  { readonly committed: Pick<CollectionProgress, 'last' | 'offsets'> }
>;

const RETRY_MS = 10_000;
/** A lowered setting takes effect within a day. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/**
 * Lets compaction reach removed data in partitions without further writes (invariant 13, ADR 2). `rolls` outlives the
 * session. Rejects with errors that require a new session; ends with the signal.
 */
export async function rollSegments(
  tenant: Tenant,
  options: { rolls: SegmentRolls; writers: Writers; signal: AbortSignal },
): Promise<void> {
  const { rolls, writers, signal } = options;
  while (!signal.aborted) {
    const pauseMs = await rollDue(tenant, { rolls, writers }).catch((error: unknown) => {
      // The next commit shows that Kafka is not reachable; the markers can wait.
      const isPassing = error instanceof RollcallError && error.reaction !== 'restart';
      if (!isPassing && !signal.aborted) throw error;
      return RETRY_MS;
    });
    await tenant.runtime.sleep(Math.min(pauseMs, LONGEST_PAUSE_MS), signal).catch(() => undefined);
  }
}

async function rollDue(
  tenant: Tenant,
  { rolls, writers }: { rolls: SegmentRolls; writers: Writers },
): Promise<number> {
  const written = lastWritten(writers);
  if (written.size === 0) return RETRY_MS;
  const settings = await tenant.log.compactionSettings([...written.keys()]);
  const topics = [...written].flatMap(([topic, partitions]): WrittenTopic[] => {
    const found = settings.get(topic);
    return found === undefined ? [] : [{ topic, settings: found, lastWritten: partitions }];
  });
  if (topics.length === 0) return RETRY_MS;
  const due = rolls.due(topics, tenant.runtime.now());
  try {
    if (due.size > 0) await tenant.log.markEnds(due);
  } catch (error) {
    rolls.missed(due);
    throw error;
  }
  return rolls.pauseMs(topics, tenant.runtime.now());
}

/** By topic and partition, a number that grows with each commit: the offset; for `progress` also the transaction. */
function lastWritten(writers: Writers): Map<TopicSuffix, Map<number, number>> {
  const topics = new Map<TopicSuffix, Map<number, number>>();
  const add = (name: string, number: number): void => {
    const topic = suffixOf(name);
    const partition = Number(name.slice(name.lastIndexOf('/') + 1));
    const partitions = topics.get(topic) ?? new Map<number, number>();
    topics.set(topic, partitions.set(partition, number + (partitions.get(partition) ?? 0)));
  };
  for (const { committed } of writers.values()) {
    // Add up the offsets of a topic with several writers, such as rejects.
    for (const [name, offset] of Object.entries(committed.offsets)) add(name, offset);
    if (committed.last !== null) add('.progress/0', committed.last.sequence);
  }
  return topics;
}

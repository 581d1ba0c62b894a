import { lostPartition } from '../core/index-recovery.ts';
import { hasCode, leavesSessionWhole, type RollcallError } from '../errors.ts';
import { RecordsLost } from '../log/kafka-errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { readEnds, suffixOf } from '../recovery/topic-ends.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { Tenant } from '../table/tenant.ts';

/** The interval of the checks for lost records. Nothing else would reveal a loss. */
const CHECK_EVERY_MS = 60_000;
/** After this many checks, settings and numbers of partitions are compared, too. */
const CHECKS_PER_COMPARISON = 10;
/** Kafka answers a commit before it writes the markers; until then the records are after the last stable offset. */
const MARKERS_WITHIN_MS = 5_000;
const MARKERS_POLL_MS = 100;

/**
 * Throws `KAFKA_RECORDS_LOST` if topics hold less than was committed to them, because they were deleted and
 * recreated, emptied or cut off while the process runs. If the hub does not change, nothing else would show this: no
 * record is sent, and a full sync finds no change. As after every failure of the log, a new session recovers from it.
 */
export async function requireRecords(
  tenant: Tenant,
  writers: readonly CollectionWriter[],
  signal: AbortSignal,
): Promise<void> {
  // The offsets of the writers must be taken before the ends: a commit in between can only move the ends forward.
  const known = writers.map(({ committed: { offsets, firstOffsets: knownFirstOffsets } }) => ({
    offsets,
    knownFirstOffsets,
  }));
  const topics = new Set(known.flatMap(({ offsets }) => Object.keys(offsets).map(suffixOf)));
  for (let waitedMs = 0; ; waitedMs += MARKERS_POLL_MS) {
    const ends = await readEnds(tenant, [...topics]);
    const [lost] = known.flatMap((each) => lostPartition({ ...ends, ...each }) ?? []);
    if (lost === undefined) return;
    if (waitedMs >= MARKERS_WITHIN_MS) throw new RecordsLost(lost.slice(0, lost.lastIndexOf('/')));
    await tenant.runtime.sleep(MARKERS_POLL_MS, signal);
  }
}

/**
 * Checks the topics every minute, and compares them with the contract every ten minutes. Rejects with the error of
 * {@link requireRecords}; ends with the signal.
 */
export async function watchTopics(
  tenant: Tenant,
  writers: ReadonlyMap<CollectionName, CollectionWriter>,
  signal: AbortSignal,
): Promise<void> {
  let isMismatched = false;
  for (let check = 1; ; check += 1) {
    await tenant.runtime.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      // If a collection is lost, a person decides about it.
      const kept = [...writers.values()].filter(({ committed }) => committed.lost === undefined);
      await requireRecords(tenant, kept, signal);
      if (check % CHECKS_PER_COMPARISON !== 0 && !isMismatched) continue;
      const mismatch = await tenant.prepare().then(() => null, mismatchIn);
      isMismatched = mismatch !== null;
      tenant.emit({ type: 'topics-compared', mismatch });
    } catch (error) {
      if (signal.aborted) return;
      // The next commit will show that Kafka cannot be reached; this check has no result.
      if (!leavesSessionWhole(error)) throw error;
    }
  }
}

/** Returns the difference or missing right for which a start would be refused. Throws every other error. */
function mismatchIn(error: unknown): RollcallError {
  if (hasCode(error, 'KAFKA_TOPIC_MISMATCH', 'KAFKA_REFUSED')) return error;
  throw error;
}

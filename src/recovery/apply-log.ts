import { CONTENT_HASH_BYTES, HASH_OF_NO_ROW } from '../core/rows/content-hash.ts';
import { STATE_TOPIC, type CollectionName } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { Offsets } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topic-names.ts';
import type { LoggedRecord } from '../log/log.ts';
import type { IndexReplay } from '../state/index-store.ts';
import type { TenantAbsences } from '../table/tenant.ts';
import type { TenantTopics } from './topic-ends.ts';
import { copied } from '../absences/version-records.ts';
import { changeIn } from '../table/changelog.ts';

/** A collection whose index is behind the log. */
export interface Behind {
  readonly collection: CollectionName;
  /** Undefined if no part of the index comes from the changelog. */
  readonly absences: TenantAbsences | undefined;
  /** The offsets that the index reflects. */
  readonly after: Offsets;
  readonly replay: IndexReplay;
}

/**
 * Brings indexes up to date with the log. Returns the last offsets read. One reading serves all collections, which costs
 * less than one for each.
 */
export async function applyLog(
  tenant: TenantTopics,
  behind: readonly Behind[],
  signal: AbortSignal,
): Promise<Offsets> {
  const readUpTo: Record<string, number> = {};
  if (behind.length === 0) return readUpTo;
  const replays = new Map(behind.map((each) => [each.collection, each]));
  await tenant.log.read({
    from: [
      ...behind.map(({ collection, after }) => ({ topic: collection, after })),
      ...behind.flatMap(({ after, absences }) =>
        absences === undefined ? [] : [{ topic: STATE_TOPIC, after }],
      ),
      // `rejects` is small, and all collections share it, so it is read from the beginning. Replaying it again
      // changes nothing.
      { topic: 'rejects' as const, after: {} },
    ],
    onBatch: (records) => {
      const last = records.at(-1);
      if (last !== undefined)
        readUpTo[partitionName(topicName(tenant, last.topic), last.partition)] = last.offset;
      return writeToReplays(records, replays);
    },
    signal,
  });
  return readUpTo;
}

async function writeToReplays(
  records: readonly LoggedRecord[],
  replays: ReadonlyMap<CollectionName, Behind>,
): Promise<void> {
  const first = records[0];
  if (first === undefined) return;
  if (first.topic === STATE_TOPIC) {
    const { absences, replay } = replays.get('absence-versions') ?? {};
    if (absences === undefined) return;
    const changes = records.map(changeIn).filter((change) => change !== null);
    await replay?.write(changes.map((change) => copied(absences, change)));
    return;
  }
  if (first.topic !== 'rejects') {
    const collection = first.topic as CollectionName;
    const behind = replays.get(collection);
    await behind?.replay.write(
      records.map(({ key, value, hash }) => ({ area: 'rows', key, value: hashOf(value, hash) })),
    );
    return;
  }
  for (const [collection, { replay }] of replays) {
    const changes = records.flatMap(({ key, value, hash }) => {
      const parts = splitCompositeKey(key);
      if (parts === null || parts[0] !== collection) return [];
      return [{ area: 'rejects' as const, key: parts[1], value: hashOf(value, hash) }];
    });
    if (changes.length > 0) await replay.write(changes);
  }
}

/** Another program wrote a record without a hash. It gets a hash that no row has, so that a full sync publishes the row again. */
function hashOf(value: Buffer | null, hash: Buffer | null): Buffer | null {
  if (value === null) return null;
  return hash?.length === CONTENT_HASH_BYTES ? hash : HASH_OF_NO_ROW;
}

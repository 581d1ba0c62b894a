import { z } from 'zod';
import { changeHeaders } from '../../core/cloud-events.ts';
import { RollcallError } from '../../errors.ts';
import { COLLECTIONS, isChainCollection, type CollectionName } from '../../model/collections.ts';
import { compositeKey, splitCompositeKey } from '../../model/keys.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { noteDecided } from '../withholding.ts';
import { syncOf } from './republication-sync.ts';
import { readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { rebuildIndex } from './rebuild-index.ts';

const AFTERSCHOOL_USERS = 'afterschool-users';
const RECORDS_AT_ONCE = 5_000;

const parameters = z.strictObject({
  /** Whole collections, of which everything but their topics is removed. */
  collections: z.array(z.enum(COLLECTIONS)),
  /** Whose rows are removed; null: no afterschool's. */
  afterschool: z.string().nullable(),
});

export type PurgeParameters = z.output<typeof parameters>;

/** What was removed; survives JSON. */
export interface Purged {
  /** Rows of the afterschool. Those of whole collections go with their topics. */
  readonly rows: number;
  readonly rejects: number;
}

/**
 * `rollcall topics purge`: what the configuration no longer wants is removed, and the hub is not asked. A collection's
 * progress goes last, so that one that comes back into the configuration begins with a first load. It may be repeated.
 */
export const PURGE: OwnerRequestKind<PurgeParameters, Purged> = {
  kind: 'purge',
  read: (given) => readParameters(parameters, given),
  async meet({ collections, afterschool }, work) {
    for (const collection of collections) requireOff(work, collection);
    if (afterschool !== null) return purgeAfterschool(work, afterschool);
    const rejects = await purgeCollections(work, collections);
    return { rows: 0, rejects };
  },
};

/** The process that owns the tenant may have begun with an earlier configuration. */
function requireOff({ parts, session }: OwnerWork, collection: CollectionName): void {
  const isOn = isChainCollection(collection) ? parts.chains !== undefined : session.writers.has(collection);
  if (isOn) throw stillMirrored(collection);
}

function stillMirrored(what: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `The process that runs for the tenant still mirrors ${what}`, {
    remedy: 'Restart it with the configuration that no longer names it, and give the command again.',
  });
}

async function purgeCollections(work: OwnerWork, collections: readonly CollectionName[]): Promise<number> {
  const { parts, session } = work;
  const rejects = await rejectsOf(work, collections);
  for (const collection of collections) await parts.state.forget(collection);
  // Entries on absences stand in the index of their versions.
  const hasEntries = collections.some(isChainCollection) && session.writers.has('absence-versions');
  if (hasEntries) await rebuildIndex(work, 'absence-versions');
  const removals = [
    ...rejects.map(({ key }) => ({ topic: 'rejects' as const, key })),
    ...collections.map((key) => ({ topic: 'progress' as const, key })),
  ];
  const id = parts.randomId();
  for (let from = 0; from < removals.length; from += RECORDS_AT_ONCE) {
    const some = removals.slice(from, from + RECORDS_AT_ONCE);
    await parts.log.remove(some.map((each, at) => removalOf(work, { ...each, id: `${id}-${from + at}` })));
  }
  for (const collection of collections) {
    const own = rejects.filter((each) => each.collection === collection).length;
    parts.emit({ type: 'purged', collection, afterschool: null, rows: 0, rejects: own });
  }
  return rejects.length;
}

function removalOf(
  { parts }: OwnerWork,
  { topic, key, id }: { topic: 'rejects' | 'progress'; key: string; id: string },
): OutgoingRecord {
  const { tenantId } = parts;
  const headers = changeHeaders({ tenantId, topic, id, kind: 'deleted', modifiedAtMs: null, hash: null });
  return { topic, key, body: null, headers };
}

/** Keys of `rejects` that are there, of these collections. */
async function rejectsOf(
  { parts, signal }: OwnerWork,
  collections: readonly CollectionName[],
): Promise<readonly { collection: string; key: string }[]> {
  const names = new Set<string>(collections);
  const found = new Map<string, string>();
  await parts.log.read({
    from: [{ topic: 'rejects', after: {} }],
    onBatch: async (records) => {
      for (const { key, value } of records) {
        const [collection = ''] = splitCompositeKey(key) ?? [];
        if (!names.has(collection)) continue;
        if (value === null) found.delete(key);
        else found.set(key, collection);
      }
    },
    signal,
  });
  return [...found].map(([key, collection]) => ({ collection, key }));
}

/** Its rows and rejects go out as removals of rows do: in transactions, and then from the index. */
async function purgeAfterschool(work: OwnerWork, id: string): Promise<Purged> {
  const { parts, session } = work;
  if (parts.afterschoolIds.includes(id)) throw stillMirrored(`the afterschool ${id}`);
  const writer = session.writers.get(AFTERSCHOOL_USERS);
  if (writer === undefined) {
    throw new RollcallError('USAGE_INVALID', `No afterschool of ${parts.tenantId} is mirrored any more`, {
      remedy: `Purge the whole collection: rollcall topics purge --tenant ${parts.tenantId} --collection ${AFTERSCHOOL_USERS}`,
    });
  }
  const sync = syncOf(work, writer, {});
  const isOwn = (key: string): boolean => key.startsWith(compositeKey(id, ''));
  const removed = { rows: 0, rejects: 0 };
  writer.begin(sync);
  try {
    // Rejects hold rows whole, and are seen least: they go first, so that where this breaks off they are not what is left.
    for (const area of ['rejects', 'rows'] as const) {
      for (;;) {
        const { keys } = await writer.find(area, isOwn);
        if (keys.length === 0) break;
        await writer.remove(sync, area, keys);
        await writer.flush(sync);
        removed[area] += keys.length;
      }
    }
  } finally {
    writer.end(sync);
  }
  await forgetRemoved(work, writer, isOwn);
  parts.emit({ type: 'purged', collection: AFTERSCHOOL_USERS, afterschool: id, ...removed });
  return removed;
}

/** What was remembered of the rows: they neither wait for a person nor for a second pass any more. */
async function forgetRemoved(
  { parts }: OwnerWork,
  writer: CollectionWriter,
  isOwn: (key: string) => boolean,
): Promise<void> {
  const memory = parts.state.deletions;
  const collection = AFTERSCHOOL_USERS;
  const without = <T>(keys: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...keys].filter(([key]) => !isOwn(key)));
  await memory.setMissing(collection, without(await memory.missing(collection)));
  const listed = await memory.withheld(collection);
  const left = without(listed);
  if (left.size === listed.size) return;
  const note = await memory.note(collection);
  if (left.size === 0) await noteDecided({ collection, memory, writer });
  else if (note !== null)
    await memory.setNote(collection, { ...note, count: note.count - listed.size + left.size });
  await memory.setWithheld(collection, left);
  if (left.size === 0) await memory.setTripped(collection, false);
}

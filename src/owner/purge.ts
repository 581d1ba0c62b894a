import { z } from 'zod';
import { changeHeaders } from '../core/cloud-events.ts';
import { RollcallError } from '../errors.ts';
import { COLLECTIONS, isChainCollection, type CollectionName } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { OutgoingRecord } from '../log/log.ts';
import { readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { rebuildIndex } from './rebuild.ts';

const RECORDS_AT_ONCE = 5_000;

const parameters = z.strictObject({
  /** Collections to remove completely, except for their topics. */
  collections: z.array(z.enum(COLLECTIONS)),
});

export type PurgeParameters = z.output<typeof parameters>;

/** Numbers of removed records; survives JSON. */
export interface Purged {
  /** The rows of collections are deleted with their topics. */
  readonly rejects: number;
}

/**
 * `rollcall topics purge`: removes what the configuration no longer wants, without asking the hub. It removes a
 * collection's progress last, so that a collection that is wanted again begins with a first load. It can be repeated.
 */
export const PURGE: OwnerRequestKind<PurgeParameters, Purged> = {
  kind: 'purge',
  read: (given) => readParameters(parameters, given),
  async handle({ collections }, work) {
    for (const collection of collections) requireOff(work, collection);
    return { rejects: await purgeCollections(work, collections) };
  },
};

/** The owner may run with an earlier configuration that still wants the collection. */
function requireOff({ parts, session }: OwnerWork, collection: CollectionName): void {
  const isOn = isChainCollection(collection) ? parts.chains !== undefined : session.writers.has(collection);
  if (isOn) throw stillMirrored(collection);
}

function stillMirrored(what: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `The process that runs for the tenant still mirrors ${what}`, {
    remedy: 'Restart the process with the current configuration, and give the command again.',
  });
}

async function purgeCollections(work: OwnerWork, collections: readonly CollectionName[]): Promise<number> {
  const { parts, session } = work;
  const rejects = await rejectsOf(work, collections);
  for (const collection of collections) await parts.state.forget(collection);
  // The index of `absence-versions` holds the entries of absences.
  const hasEntries = collections.some(isChainCollection) && session.writers.has('absence-versions');
  if (hasEntries) await rebuildIndex(work, 'absence-versions');
  const removals = [
    ...rejects.map(({ key }) => ({ topic: 'rejects' as const, key })),
    ...collections.map((key) => ({ topic: 'progress' as const, key })),
  ];
  const id = parts.runtime.randomId();
  for (let from = 0; from < removals.length; from += RECORDS_AT_ONCE) {
    const some = removals.slice(from, from + RECORDS_AT_ONCE);
    await parts.log.remove(some.map((each, at) => removalOf(work, { ...each, id: `${id}-${from + at}` })));
  }
  for (const collection of collections) {
    const own = rejects.filter((each) => each.collection === collection).length;
    parts.emit({ type: 'purged', collection, rejects: own });
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

/** Existing keys of these collections in `rejects`. */
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

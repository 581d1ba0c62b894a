import { z } from 'zod';
import { RollcallError } from '../../errors.ts';
import { COLLECTIONS, collectionNamed, sourceOf, type CollectionName } from '../../model/collections.ts';
import type { ActiveSync } from '../active-sync.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { plainSource } from '../source.ts';
import { onceEach, type Republication } from '../republication.ts';
import { notMirrored, readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { republishSchedules } from './republish-schedules.ts';
import { randomSeed } from '../random-seed.ts';

/** For more keys than this, republishing the entire collection is better. */
export const MOST_KEYS = 1_000;

const parameters = z.strictObject({
  collection: z.enum(COLLECTIONS),
  /** Empty: all rows of the hub. */
  keys: z.array(z.string()).max(MOST_KEYS),
});

export type RepublishParameters = z.output<typeof parameters>;

/** Survives JSON. */
export interface Republished {
  /** Number of published keys, unchanged or changed. */
  readonly published: number;
  /** Named keys that the hub does not have; for schedules, also days that have changed. */
  readonly missing: readonly string[];
  /** Why the sync may not have seen all rows; null when it saw all. */
  readonly why: string | null;
  /** Number of rows that the hub no longer has and whose removal needs a decision. */
  readonly withheld: number;
}

/** `rollcall republish`: publishes rows again although they have not changed. */
export const REPUBLISH: OwnerRequestKind<RepublishParameters, Republished> = {
  kind: 'republish',
  read: (given) => readParameters(parameters, given),
  async handle({ collection, keys }, work) {
    const refused = whyNotRepublishable(collection);
    if (refused !== null) throw refused;
    const writer = work.session.writers.get(sourceOf(collection));
    if (writer === undefined) throw notMirrored(collection);
    const tally = new RepublishedKeys(keys);
    if (collection === 'schedules')
      await republishSchedules(work, { writer, keys, republication: tally.take });
    else if (keys.length === 0 || !canAskById(collection)) return byFullSync(work, collection, tally);
    else if ((await byId(work, { collection, writer, keys, tally })) === 'unanswered') {
      return byFullSync(work, collection, tally);
    }
    return { published: tally.count, missing: tally.missing, why: null, withheld: 0 };
  },
};

/** Why a collection is never republished; null when it may be. */
export function whyNotRepublishable(collection: CollectionName): RollcallError | null {
  if (collection !== 'absence-changes') return null;
  return new RollcallError('USAGE_INVALID', 'absence-changes cannot be republished', {
    remedy:
      'Rollcall publishes each step once; otherwise guardians would be notified twice. Read the topic from an earlier offset, or republish absences. With --redact, Rollcall removes from the events what the configuration now drops or pseudonymises.',
  });
}

/** Counts the republished keys, and takes each wanted key once. */
class RepublishedKeys {
  count = 0;
  readonly #wanted: ReadonlySet<string>;
  readonly #missing: Set<string>;
  readonly #takesOnce: (key: string) => boolean;

  constructor(keys: readonly string[]) {
    this.#wanted = new Set(keys);
    this.#missing = new Set(keys);
    this.#takesOnce = onceEach(keys.length === 0 ? 'all' : this.#wanted, randomSeed());
  }

  readonly take = (key: string): boolean => {
    if (!this.#takesOnce(key)) return false;
    this.count += 1;
    this.#missing.delete(key);
    return true;
  };

  get missing(): readonly string[] {
    return [...this.#missing];
  }
}

/** False for nested and derived collections, which need a full sync. */
function canAskById(collection: CollectionName): boolean {
  const { keyset, path, derivedFrom } = collectionNamed(collection);
  return keyset && derivedFrom === null && !path.includes('{id}');
}

async function byFullSync(
  work: OwnerWork,
  collection: CollectionName,
  tally: RepublishedKeys,
): Promise<Republished> {
  const republication: Republication =
    collection === 'absences' ? { absences: tally.take } : { rows: tally.take };
  const result = await work.sync(sourceOf(collection), 'FULL', { republication });
  const why = result.kind === 'inconclusive' ? result.why : null;
  const withheld = result.kind === 'oversized' ? 0 : result.withheld;
  return { published: tally.count, missing: tally.missing, why, withheld };
}

/** Republishes rows that are requested by id. `unanswered`: the hub has no answer for some of them. */
async function byId(
  work: OwnerWork,
  options: {
    collection: CollectionName;
    writer: CollectionWriter;
    keys: readonly string[];
    tally: RepublishedKeys;
  },
): Promise<'answered' | 'unanswered'> {
  const { parts, signal } = work;
  const { collection, writer, keys, tally } = options;
  const reader = parts.collections.find(({ name }) => name === collection)?.reader;
  const source = reader === undefined ? null : plainSource(parts.hub, collectionNamed(collection), reader);
  if (source?.fetchRows === undefined) return 'unanswered';
  const { pages, gone } = await source.fetchRows(keys, { readVersion: writer.readVersion, signal });
  const accept = async (sync: ActiveSync): Promise<void> => {
    for (const page of pages) await writer.accept(sync, page);
  };
  await writer.withoutScan(accept, { rows: tally.take });
  return pages.length + gone.length < keys.length ? 'unanswered' : 'answered';
}

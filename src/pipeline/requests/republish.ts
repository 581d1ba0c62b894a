import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { RollcallError } from '../../errors.ts';
import { COLLECTIONS, collectionNamed, sourceOf, type CollectionName } from '../../model/collections.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { plainSource } from '../source.ts';
import { onceEach, type Republication } from '../republication.ts';
import { syncOf } from './republication-sync.ts';
import { notMirrored, readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { republishSchedules } from './republish-schedules.ts';

/** More keys than these are better published with the whole collection. */
export const MOST_KEYS = 1_000;
const SEEDS = 2 ** 31;

const parameters = z.strictObject({
  collection: z.enum(COLLECTIONS),
  /** Empty: all that the hub has. */
  keys: z.array(z.string()).max(MOST_KEYS),
});

export type RepublishParameters = z.output<typeof parameters>;

/** Survives JSON. */
export interface Republished {
  /** Keys that were published, again or because they had changed. */
  readonly published: number;
  /** Keys asked for that the hub does not have, or not as they are known. */
  readonly missing: readonly string[];
  /** Why it is not known that all were met; null when they were. */
  readonly why: string | null;
  /** Rows that are gone at the hub, and whose removal waits for a person. */
  readonly withheld: number;
}

/** `rollcall republish`: rows are published again although they have not changed. */
export const REPUBLISH: OwnerRequestKind<RepublishParameters, Republished> = {
  kind: 'republish',
  read: (given) => readParameters(parameters, given),
  async meet({ collection, keys }, work) {
    const refused = whyNotAgain(collection);
    if (refused !== null) throw refused;
    const writer = work.session.writers.get(sourceOf(collection));
    if (writer === undefined) throw notMirrored(collection);
    const told = new Told(keys);
    if (collection === 'schedules')
      await republishSchedules(work, { writer, keys, republication: told.take });
    else if (keys.length === 0 || !canAskById(collection)) return byFullSync(work, collection, told);
    else if ((await byId(work, { collection, writer, keys, told })) === 'untold') {
      return byFullSync(work, collection, told);
    }
    return { published: told.count, missing: told.missing, why: null, withheld: 0 };
  },
};

/** Why a collection is never published again; null when it may be. */
export function whyNotAgain(collection: CollectionName): RollcallError | null {
  if (collection !== 'absence-changes') return null;
  return new RollcallError('USAGE_INVALID', 'absence-changes cannot be republished', {
    remedy:
      'Rollcall publishes each step once; otherwise guardians would be notified twice. Read the topic from an earlier offset, or republish absences. With --redact, Rollcall removes from the events what the configuration now drops or pseudonymises.',
  });
}

/** What was published of what is wanted. */
class Told {
  count = 0;
  readonly #wanted: ReadonlySet<string>;
  readonly #left: Set<string>;
  readonly #takesOnce: (key: string) => boolean;

  constructor(keys: readonly string[]) {
    this.#wanted = new Set(keys);
    this.#left = new Set(keys);
    this.#takesOnce = onceEach(keys.length === 0 ? 'all' : this.#wanted, randomInt(SEEDS));
  }

  readonly take = (key: string): boolean => {
    if (!this.#takesOnce(key)) return false;
    this.count += 1;
    this.#left.delete(key);
    return true;
  };

  get missing(): readonly string[] {
    return [...this.#left];
  }
}

/** Nested collections, and those put together, are read whole. */
function canAskById(collection: CollectionName): boolean {
  const { keyset, path, derivedFrom } = collectionNamed(collection);
  return keyset && derivedFrom === null && !path.includes('{id}');
}

async function byFullSync(work: OwnerWork, collection: CollectionName, told: Told): Promise<Republished> {
  const republication: Republication =
    collection === 'absences' ? { absences: told.take } : { rows: told.take };
  const result = await work.sync(sourceOf(collection), 'FULL', { republication });
  const why = result.kind === 'suspect' ? result.why : null;
  const withheld = result.kind === 'wholesale' ? 0 : result.withheld;
  return { published: told.count, missing: told.missing, why, withheld };
}

/** `untold`: the hub does not tell of some whether it has them. */
async function byId(
  work: OwnerWork,
  options: { collection: CollectionName; writer: CollectionWriter; keys: readonly string[]; told: Told },
): Promise<'told' | 'untold'> {
  const { parts, signal } = work;
  const { collection, writer, keys, told } = options;
  const reader = parts.collections.find(({ name }) => name === collection)?.reader;
  const source = reader === undefined ? null : plainSource(parts.hub, collectionNamed(collection), reader);
  if (source?.fetchRows === undefined) return 'untold';
  const { pages, gone } = await source.fetchRows(keys, { readVersion: writer.readVersion, signal });
  const sync = syncOf(work, writer, { rows: told.take });
  writer.begin(sync);
  try {
    for (const page of pages) await writer.accept(sync, page);
    await writer.flush(sync);
  } finally {
    writer.end(sync);
  }
  return pages.length + gone.length < keys.length ? 'untold' : 'told';
}

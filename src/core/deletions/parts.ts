import type { CollectionName } from '../../model/collections.ts';
import { isMostOf, isNearlyAllOf } from './guard.ts';
import type { MissingKeys } from './decide-missing.ts';
import { digestOf, type WaitingRows } from './waiting-list.ts';

/** The school of each published row, by collection and key; null: the row names none. */
export type Schools = ReadonlyMap<CollectionName, ReadonlyMap<string, string | null>>;

/** The rows of one collection in a part. */
export interface PartRows {
  readonly collection: CollectionName;
  /** Sorted. */
  readonly keys: readonly string[];
  /** Published rows of the school in this collection, or of the whole collection; the missing ones included. */
  readonly known: number;
  /** Published rows of the collection, the missing ones included. */
  readonly knownOfAll: number;
  /** When each of the keys was first missed. */
  readonly misses: MissingKeys;
  /** When the oldest was first missed, ms since the epoch. */
  readonly sinceMs: number;
}

/** Rows that a person approves together, because they probably left the hub in one event. */
export interface Part {
  /** Identifies the rows of the part, and when each of them was first missed. */
  readonly digest: string;
  /** The school that has lost these rows; null: the part has the other missing rows of one collection. */
  readonly school: string | null;
  readonly rows: number;
  readonly collections: readonly PartRows[];
}

type Listed = Pick<WaitingRows, 'collection' | 'keys' | 'misses'>;

/**
 * At most this many schools are parts. The rows of all other schools are in the parts of their collections, so that the
 * list stays short.
 */
const MOST_SCHOOLS = 10;

/**
 * Divides the rows that wait for a decision. A school that has lost most of its rows in some collection is a part: it
 * has the school's missing rows of every collection in which the school has lost most of its rows. The other missing
 * rows of each collection are one part. The largest part comes first.
 */
export function partsOf(list: readonly Listed[], schools: Schools): readonly Part[] {
  const schoolsOf = ({ collection }: Listed) => schools.get(collection) ?? new Map<string, string | null>();
  const lost = list.flatMap((each) => lostBySchool(each, schoolsOf(each)));
  const rowsIn = ({ rows }: (typeof lost)[number]): PartRows => rows;
  const ofSchools = [...Map.groupBy(lost, ({ school }) => school)]
    .map(([school, of]) => partOf(school, of.map(rowsIn)))
    .filter(({ collections }) => collections.some(({ keys, known }) => isMostOf(keys.length, known)))
    .toSorted(largestFirst)
    .slice(0, MOST_SCHOOLS);
  const taken = ofSchools.flatMap(({ collections }) => collections);
  const others = list.flatMap((each) => {
    const ofSchool = new Set(
      taken.flatMap(({ collection, keys }) => (collection === each.collection ? keys : [])),
    );
    const keys = each.keys.filter((key) => !ofSchool.has(key));
    const known = knownOf(each, schoolsOf(each));
    return keys.length === 0 ? [] : [partOf(null, [rowsOf(each, { keys, known, knownOfAll: known })])];
  });
  return [...ofSchools, ...others].toSorted(largestFirst);
}

/** Whether the approval of a part needs a reason. */
export function needsReason({ collections }: Part): boolean {
  return collections.some(({ keys, knownOfAll }) => isNearlyAllOf(keys.length, knownOfAll));
}

/** The missing rows of a collection by school, for schools of which half or more are missing. */
function lostBySchool(listed: Listed, schoolOf: ReadonlyMap<string, string | null>) {
  const missing = Map.groupBy(listed.keys, (key) => schoolOf.get(key) ?? null);
  const knownOfAll = knownOf(listed, schoolOf);
  // The loss of nearly all rows of several schools in a collection counts as one event.
  if (missing.size > 1 && isNearlyAllOf(listed.keys.length, knownOfAll)) return [];
  const counts = new Map<string | null, number>();
  for (const school of schoolOf.values()) counts.set(school, (counts.get(school) ?? 0) + 1);
  return [...missing].flatMap(([school, keys]) => {
    const known = counts.get(school) ?? 0;
    if (school === null || keys.length * 2 < known) return [];
    return [{ school, rows: rowsOf(listed, { keys, known, knownOfAll }) }];
  });
}

/** If the topic has lost records, it may have fewer rows than are missing. */
function knownOf({ keys }: Listed, schoolOf: ReadonlyMap<string, string | null>): number {
  return Math.max(keys.length, schoolOf.size);
}

function rowsOf(
  { collection, misses }: Listed,
  counts: Pick<PartRows, 'keys' | 'known' | 'knownOfAll'>,
): PartRows {
  const sinceMs = counts.keys.reduce(
    (oldest, key) => Math.min(oldest, misses.get(key)?.sinceMs ?? oldest),
    Number.POSITIVE_INFINITY,
  );
  return { collection, misses, ...counts, sinceMs };
}

function partOf(school: string | null, collections: readonly PartRows[]): Part {
  const rows = collections.reduce((sum, { keys }) => sum + keys.length, 0);
  return { digest: digestOf(collections), school, rows, collections };
}

function largestFirst(one: Part, other: Part): number {
  return other.rows - one.rows || (one.digest < other.digest ? -1 : 1);
}

import type { Missing } from '../core/deletions/decide-missing.ts';
import type { IndexedPoint } from '../core/index-recovery.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import type { Coordination } from './coordination.ts';

/** The point of the log that an index reflects. */
export interface IndexPosition extends IndexedPoint {
  /** First offsets of partitions that do not begin at 0, by `<topic>/<partition>`: records before these offsets were lost earlier. */
  readonly firstOffsets?: Offsets | undefined;
}

/** Published rows, and rejected rows: key → 16 bytes of content hash. */
const ROW_AREAS = ['rows', 'rejects'] as const;

/**
 * Only in the index of `absence-versions`; `core/absences` defines the values:
 * - `absences`: absence id → its entry: the list of its versions, and the last published step
 * - `pointers`: version id → its absence, for each id that is not its absence's own
 * - `open`: absences that the end of a sync settles
 * - `bodies`: version id → its record, while a version that was read waits for its event
 * - `ended`: absence id → day on which it was published as deleted
 * - `forgotten`: absences for whose key a null was published to `absence-changes`
 * - `absent`: absence id → student and days of a current absence; empty if the mapping takes the student out
 * - `contradictions`: absences about which the hub says something that cannot be true
 */
export const ABSENCE_AREAS = [
  'absences',
  'pointers',
  'open',
  'bodies',
  'ended',
  'forgotten',
  'absent',
  'contradictions',
] as const;

const ALL_AREAS = [...ROW_AREAS, ...ABSENCE_AREAS] as const;

export type IndexArea = (typeof ALL_AREAS)[number];

/** Returns the areas of a collection's index. Other areas cause a `RangeError`. */
export function areasOf(collection: CollectionName): readonly IndexArea[] {
  return collection === 'absence-versions' ? ALL_AREAS : ROW_AREAS;
}

export interface IndexChange {
  readonly area: IndexArea;
  readonly key: string;
  /** Any bytes, from none to some KB. Null removes the key. */
  readonly value: Buffer | null;
}

export type IndexEntry = readonly [key: string, value: Buffer];

/** Values in the order of the keys that were looked up, null for an absent key. */
export type IndexValues = readonly (Buffer | null)[];

/** Writes an index from the log. The index is unreadable until `finish`. */
export interface IndexReplay {
  /** Takes changes in the log's order; the last change of a key wins. Throws `INDEX_DIVERGED` if the replay is void. */
  write(changes: readonly IndexChange[]): Promise<void>;
  /** Returns the replay's values so far. A void replay may return anything; its next `write` throws. */
  lookup(area: IndexArea, keys: readonly string[]): Promise<IndexValues>;
  /** Returns the replay's entries so far, with the guarantees of {@link CollectionIndex.keys}. */
  entries(area: IndexArea): AsyncIterable<readonly IndexEntry[]>;
  finish(position: IndexPosition): Promise<void>;
}

/**
 * The index of one collection's keys, at one point of the log (invariant 1).
 *
 * A lookup names the transaction that the index must reflect, and a write the one before it. If the index is
 * elsewhere (a failover, a restore, another process), the call throws `INDEX_DIVERGED`. `count`, `keys` and `entries`
 * name no transaction, so a lost index looks empty to them. If a caller must know the difference, it calls `lookup`
 * afterwards with an empty list of keys, which throws if the index was lost. `INDEX_UNREACHABLE` is transient. Callers
 * write nothing before Kafka has committed it.
 */
export interface CollectionIndex {
  /** Returns null for an index that is empty, unknown or in an unfinished replay. */
  position(): Promise<IndexPosition | null>;
  /** At most a few thousand keys. */
  lookup(area: IndexArea, keys: readonly string[], expected: string | null): Promise<IndexValues>;
  /**
   * Writes changes and the new position in one atomic step. `previous` null: the index must be empty. A transaction has far
   * fewer changes than Redis takes in one command (half a million).
   */
  apply(previous: string | null, position: IndexPosition, changes: readonly IndexChange[]): Promise<void>;
  /** Returns the number of keys. */
  count(area: IndexArea): Promise<number>;
  /**
   * Yields all keys in batches, unordered; a key may come twice. Writes between two batches are allowed: a key that
   * is present throughout comes, and one that is added or removed meanwhile may come or not. This method does not
   * detect a rebuild or flush meanwhile; the next lookup or write does.
   */
  keys(area: IndexArea): AsyncIterable<readonly string[]>;
  /** Like `keys`, with the values; for a value that changes meanwhile, the old or the new one. */
  entries(area: IndexArea): AsyncIterable<readonly IndexEntry[]>;
  /** Drops the index and begins a replay. A later replay voids this one. */
  rebuild(): Promise<IndexReplay>;
  /** Begins a replay on top of the index, which must be at `from`. */
  resume(from: IndexPosition): Promise<IndexReplay>;
}

/** The error for an index that is not at the expected position. `name` is tenant and collection. */
export function indexDiverged(name: string): RollcallError {
  return new RollcallError('INDEX_DIVERGED', `The index of ${name} has changed since this process wrote it`, {
    remedy:
      'There is nothing to do: Rollcall brings the index up to date from the topics. If it happens often, check for ' +
      'failovers, flushes or restores of Redis, and for another process with this tenant and key prefix.',
  });
}

/** The last change of each key, by area. */
export type LatestChanges = ReadonlyMap<IndexArea, ReadonlyMap<string, Buffer | null>>;

/**
 * Groups changes by the areas of an index, in the order of the areas; throws a `RangeError` for another area.
 * A lone surrogate in a key becomes the replacement character, as in Kafka.
 */
export function latestChanges(areas: Iterable<IndexArea>, changes: readonly IndexChange[]): LatestChanges {
  const latest = new Map<IndexArea, Map<string, Buffer | null>>();
  for (const area of areas) latest.set(area, new Map());
  for (const { area, key, value } of changes) memberOf(latest, area).set(key.toWellFormed(), value);
  return latest;
}

/** Returns the entry of an area; throws a `RangeError` for an area that the index lacks. */
export function memberOf<T>(areas: ReadonlyMap<IndexArea, T>, area: IndexArea): T {
  const found = areas.get(area);
  if (found === undefined) throw new RangeError(`no area '${area}' in the index of this collection`);
  return found;
}

/** A tenant's memory between syncs, besides the index. Losing it delays deletions and never causes one. */
export interface DeletionMemory {
  /** What full syncs of the collection have missed; null: nothing is remembered. */
  missing(collection: CollectionName): Promise<Missing | null>;
  setMissing(collection: CollectionName, missing: Missing | null): Promise<void>;
}

/** The state of one tenant. */
export interface TenantState {
  collection(name: CollectionName): CollectionIndex;
  readonly deletions: DeletionMemory;
  /** Drops the state of a collection that is no longer mirrored. */
  forget(name: CollectionName): Promise<void>;
}

/** Keeps the state of tenants, in Redis or in this process. */
export interface StateStore {
  /** Throws `INDEX_UNREACHABLE`, or `INDEX_REFUSED` with the remedy (eviction policy, rights, password). */
  ready(): Promise<void>;
  tenant(tenantId: string): TenantState;
  /** The coordination of the memory store finds no other process. */
  readonly coordination: Coordination;
  close(): Promise<void>;
}

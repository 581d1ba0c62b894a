import type { CollectionName } from '../model/collections.ts';
import type { Offsets } from '../model/progress.ts';
import type { Coordination } from './coordination.ts';

/** The point of the log that an index reflects. */
export interface IndexPosition {
  readonly sequence: number;
  readonly transactionId: string;
  /** Local wall clock at commit, ms since the epoch: tells whether tombstones may have been compacted away since. */
  readonly committedAtMs: number;
  readonly offsets: Offsets;
  /** First offsets of partitions that do not begin at 0, by `<topic>/<partition>`: they had lost records by then. */
  readonly firstOffsets?: Offsets | undefined;
  /**
   * Id of the mapping (core/mapping-id.ts) under which the index was made; null: none. Undefined in an index from before
   * this was noted.
   */
  readonly mapping?: string | null | undefined;
}

/** Rows that the hub has; rows that could not be read: key → 16 bytes content hash. */
const ROW_AREAS = ['rows', 'rejects'] as const;

/**
 * Only in the index of `absence-versions`; values as `core/chains` has them:
 * - `versions`: version id → its chain entry
 * - `absences`: absence id → what was told of it
 * - `open`: version ids whose chain is to be looked at again
 * - `ended`: absence id → day on which it was told deleted
 * - `absent`: absence id → student and days of a current absence
 * - `contradictions`: what the hub told that cannot all be true
 */
const CHAIN_AREAS = ['versions', 'absences', 'open', 'ended', 'absent', 'contradictions'] as const;

const ALL_AREAS = [...ROW_AREAS, ...CHAIN_AREAS] as const;

export type IndexArea = (typeof ALL_AREAS)[number];

/** The areas that a collection's index has; any other is a `RangeError`. */
export function areasOf(collection: CollectionName): readonly IndexArea[] {
  return collection === 'absence-versions' ? ALL_AREAS : ROW_AREAS;
}

export interface IndexChange {
  readonly area: IndexArea;
  readonly key: string;
  /** Any bytes, up to some KB; an empty one is a value too. Null removes the key. */
  readonly value: Buffer | null;
}

export type IndexEntry = readonly [key: string, value: Buffer];

/** A rebuild or continuation of an index from the log. Only `finish` makes it readable to others again. */
export interface IndexReplay {
  /** Changes in the log's order; a later one of a key wins. */
  write(changes: readonly IndexChange[]): Promise<void>;
  /** What the replay has so far; of a void one anything, until its next write says so. */
  lookup(area: IndexArea, keys: readonly string[]): Promise<readonly (Buffer | null)[]>;
  /** What the replay has so far, on the terms of {@link CollectionIndex.keys}. */
  entries(area: IndexArea): AsyncIterable<readonly IndexEntry[]>;
  finish(position: IndexPosition): Promise<void>;
}

/**
 * What is known of one collection's keys, as of one point of the log (invariant 1).
 *
 * Every read carries the transaction it expects the index to reflect and every write the one before it:
 * any other means a failover, a restore or another process, and throws `INDEX_DIVERGED`.
 * `INDEX_UNREACHABLE` is passing. Nothing is ever written before Kafka has committed it.
 */
export interface CollectionIndex {
  /** Null when empty, unknown or amid a replay that did not finish. */
  position(): Promise<IndexPosition | null>;
  /** Values in the order of the keys; null for a key that is not there. At most a few thousand keys. */
  lookup(
    area: IndexArea,
    keys: readonly string[],
    expected: string | null,
  ): Promise<readonly (Buffer | null)[]>;
  /** All changes and the new position in one atomic step; at most 250,000. `previous` null: the index must be empty. */
  apply(previous: string | null, position: IndexPosition, changes: readonly IndexChange[]): Promise<void>;
  /** Number of keys. */
  count(area: IndexArea): Promise<number>;
  /**
   * All keys, in no order, in batches; a key may come twice. Writes between two batches are fine: a key that is there
   * from beginning to end comes, whatever else is added or removed meanwhile; one that is added or removed itself may
   * come or not. No guard: a rebuild or flush meanwhile goes unnoticed here, and shows at the next lookup or write.
   */
  keys(area: IndexArea): AsyncIterable<readonly string[]>;
  /** As `keys`, with the values; of one that changes meanwhile, the old or the new. */
  entries(area: IndexArea): AsyncIterable<readonly IndexEntry[]>;
  /** From nothing: whatever was there is dropped. A replay begun later voids this one. */
  rebuild(): Promise<IndexReplay>;
  /** From where the index is, which must be at `from`. */
  resume(from: IndexPosition): Promise<IndexReplay>;
}

/** What is remembered of a collection's removals beside the list of those that wait. */
export interface DeletionNote {
  /** Why the listed ones wait; null where none do. */
  readonly why: string | null;
  /** How many wait, the listed ones included: more may be gone than can be listed. */
  readonly count: number;
  /** The complete full pass whose withheld removals wait no more, by a person's word or as they are back: the log cannot tell. */
  readonly settledPassId: string | null;
  /** The last full pass, if the hub told it properly that it has no rows where some are known. */
  readonly emptyPassId: string | null;
  /** The list was made because the hub went on saying so: it holds all that is known. */
  readonly isOfEmpty: boolean;
}

/** Rows that the hub showed later behind their stamps than deltas reached back. */
export interface LateNote {
  readonly rows: number;
  /** None was shown later than this behind its stamp, ms. */
  readonly lagAtMostMs: number;
  /** The overlap in force then, ms. */
  readonly overlapMs: number;
}

/** What a tenant remembers between passes beside the index. Losing it delays deletions, never causes one. */
export interface DeletionMemory {
  /** Keys that a complete full pass missed and that wait for a second pass, with the pass that missed them first. */
  missing(collection: CollectionName): Promise<ReadonlyMap<string, string>>;
  setMissing(collection: CollectionName, keys: ReadonlyMap<string, string>): Promise<void>;
  /** Keys whose removal waits for a person, with when that began (ms since the epoch). */
  withheld(collection: CollectionName): Promise<ReadonlyMap<string, number>>;
  setWithheld(collection: CollectionName, keys: ReadonlyMap<string, number>): Promise<void>;
  /** Collections that tripped the guard by their own numbers, and not only because another one had. */
  tripped(): Promise<ReadonlySet<CollectionName>>;
  setTripped(collection: CollectionName, isTripped: boolean): Promise<void>;
  note(collection: CollectionName): Promise<DeletionNote | null>;
  setNote(collection: CollectionName, note: DeletionNote | null): Promise<void>;
  /** Collections that came with quite other rows than known, with since when (ms since the epoch). */
  wrongTenant(): Promise<ReadonlyMap<CollectionName, number>>;
  /** `sinceMs` null: its rows are the tenant's own again, or a person says so. */
  setWrongTenant(collection: CollectionName, sinceMs: number | null): Promise<void>;
  /** Collections that the hub did not offer when it was last asked. */
  notOffered(): Promise<ReadonlySet<CollectionName>>;
  setNotOffered(collection: CollectionName, isNotOffered: boolean): Promise<void>;
  /** What the last full pass that could tell says of rows that deltas have missed, by collection. */
  late(): Promise<ReadonlyMap<CollectionName, LateNote>>;
  setLate(collection: CollectionName, note: LateNote): Promise<void>;
  /** Removals published on a day (`YYYY-MM-DD`, tenant's zone), by collection. */
  removedOn(day: string): Promise<ReadonlyMap<string, number>>;
  addRemoved(day: string, collection: CollectionName, count: number): Promise<void>;
}

/** The memory of one tenant. */
export interface TenantState {
  collection(name: CollectionName): CollectionIndex;
  readonly deletions: DeletionMemory;
  /** Drops all that is kept of a collection that is no longer mirrored. */
  forget(name: CollectionName): Promise<void>;
}

/** Where tenants' memories are kept: Redis, or this process. */
export interface StateStore {
  /** Throws `INDEX_UNREACHABLE`, or `INDEX_REFUSED` with the remedy (eviction policy, rights, password). */
  ready(): Promise<void>;
  tenant(tenantId: string): TenantState;
  /** How a command and the owner of its tenant find each other; in memory, within this process only. */
  readonly coordination: Coordination;
  close(): Promise<void>;
}

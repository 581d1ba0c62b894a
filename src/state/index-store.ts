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
}

/** Rows that the hub has; rows that could not be read. Both are indexed by key and content hash. */
export type IndexArea = 'rows' | 'rejects';

export interface IndexChange {
  readonly area: IndexArea;
  readonly key: string;
  /** 16 bytes; null removes the key. */
  readonly hash: Buffer | null;
}

/** A rebuild or continuation of an index from the log. Only `finish` makes it readable again. */
export interface IndexReplay {
  /** Changes in the log's order; a later one of a key wins. */
  write(changes: readonly IndexChange[]): Promise<void>;
  finish(position: IndexPosition): Promise<void>;
}

/**
 * `key → content hash` of one collection, as of one point of the log (invariant 1).
 *
 * Every read carries the transaction it expects the index to reflect and every write the one before it:
 * any other means a failover, a restore or another process, and throws `INDEX_DIVERGED`.
 * `INDEX_UNREACHABLE` is passing. Nothing is ever written before Kafka has committed it.
 */
export interface CollectionIndex {
  /** Null when empty, unknown or amid a replay that did not finish. */
  position(): Promise<IndexPosition | null>;
  /** Hashes in the order of the keys; null for a key that is not there. At most a few thousand keys. */
  lookup(
    area: IndexArea,
    keys: readonly string[],
    expected: string | null,
  ): Promise<readonly (Buffer | null)[]>;
  /** All changes and the new position in one atomic step. `previous` null: the index must be empty. */
  apply(previous: string | null, position: IndexPosition, changes: readonly IndexChange[]): Promise<void>;
  /** Number of keys. */
  count(area: IndexArea): Promise<number>;
  /** All keys, in no order, in batches; a key may come twice. Not to be mixed with writes. */
  keys(area: IndexArea): AsyncIterable<readonly string[]>;
  /** From nothing: whatever was there is dropped. A replay begun later voids this one. */
  rebuild(): Promise<IndexReplay>;
  /** From where the index is, which must be at `from`. */
  resume(from: IndexPosition): Promise<IndexReplay>;
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
  /** Removals published on a day (`YYYY-MM-DD`, tenant's zone), by collection. */
  removedOn(day: string): Promise<ReadonlyMap<string, number>>;
  addRemoved(day: string, collection: CollectionName, count: number): Promise<void>;
}

/** The memory of one tenant. */
export interface TenantState {
  collection(name: CollectionName): CollectionIndex;
  readonly deletions: DeletionMemory;
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

import type { KeyedRow } from '../core/row-changes.ts';
import type { DerivedTally } from '../core/sync-stats.ts';
import type { ReadableRow } from '../core/decoded-row.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { ChainCollection } from '../model/collections.ts';
import type { IndexArea, IndexChange } from '../state/index-store.ts';

/** Reads values of the index as of the last commit, in the order of the keys. */
export type LookUp = (area: IndexArea, keys: readonly string[]) => Promise<readonly (Buffer | null)[]>;

/** Rows that a transaction holds, and of which nothing was derived yet. */
export interface StagedRows {
  readonly rows: readonly ReadableRow[];
  /** Those of the rows that are unchanged in the topic. */
  readonly unchanged: ReadonlySet<string>;
  /** Keys of rows that have left the hub; their removal is confirmed. */
  readonly gone: readonly string[];
}

/** Where the next derived record stands, which gives it its id. */
export interface RecordPlace {
  readonly transactionId: string;
  /** Number of the record in the transaction. */
  readonly firstRecord: number;
}

/** What a view adds to a transaction. */
export interface Derived {
  readonly records: readonly OutgoingRecord[];
  readonly changes: readonly IndexChange[];
  readonly tally: DerivedTally;
  /** Absences published although the hub did not answer for ids that they await. */
  readonly publishedOpen: number;
  /** Number of entries of what does not fit, in the index after these changes; null if it is unchanged. */
  readonly contradictions: number | null;
  /** Students of the changed absences. */
  readonly students: ReadonlySet<string>;
}

/**
 * A table's transaction, as a view sees it. A view derives once from a transaction: what it derives next must see the
 * result in the index, and takes a commit.
 */
export interface ViewedTransaction {
  readonly isEmpty: boolean;
  readonly isFull: boolean;
  readonly place: RecordPlace;
  takeRows(): StagedRows;
  /** The Avro body that the transaction already holds of a row's value. */
  bodyOf(value: object): Buffer | undefined;
  /** Content hashes of rows, with the transaction's changes; null for none. */
  hashesOf(keys: readonly string[]): Promise<ReadonlyMap<string, Buffer | null>>;
  readonly lookUp: LookUp;
  /** Keys of an area that the transaction changes. */
  changedKeys(area: IndexArea): ReadonlySet<string>;
  add(derived: Derived): void;
  /** Takes readable rows out of the transaction and puts them among the rejects. */
  reject(rows: readonly ReadableRow[], reason: string): Promise<void>;
  /** Asks the hub for single rows; those that it has join the transaction. False if the hub does not answer. */
  ask(keys: readonly string[]): Promise<boolean>;
  commit(): Promise<void>;
}

export interface ViewedSync {
  /** Whether later events are no news yet. */
  readonly isFirstLoad: boolean;
  /** Whether the end of another sync will settle what this one leaves open. */
  readonly isBesideFull: boolean;
  /** Null in the middle of the sync. `isComplete`: it is a complete full sync. */
  readonly end: { readonly isComplete: boolean } | null;
  /** Whether a current record is published again although it is unchanged. */
  readonly republishes?: ((key: string) => boolean) | undefined;
}

/** Rows that were asked for by their ids, as far as the hub shows them. */
export type FetchedRows = readonly { readonly rows: readonly KeyedRow[]; readonly readVersion: number }[];

/** Ids of the versions of live absences; those among them that the hub has not shown yet. */
export interface LiveIds {
  readonly versions: ReadonlySet<string>;
  readonly awaited: ReadonlySet<string>;
}

/** Topics that are derived from a table's rows, and committed in its transactions. */
export interface View {
  /** Called right before each commit of rows, and at the end of each sync. */
  derive(transaction: ViewedTransaction, sync: ViewedSync): Promise<void>;
  /** The live absences, as of the last commit, that these ids belong to or that await them. */
  live(ids: readonly string[], lookUp: LookUp): Promise<LiveIds>;
  /** How many keys the derived topics have after these changes, by the index. */
  countRows(changes: readonly IndexChange[], lookUp: LookUp): Promise<Record<ChainCollection, number>>;
  /** Asks the hub for single rows; null if it does not answer at present. */
  fetchRows(ids: readonly string[], readVersion: () => number): Promise<FetchedRows | null>;
  /** The records that make the changelog equal to the index. `at` returns the transaction that the index reflects. */
  changelog(at: () => string): AsyncIterable<readonly OutgoingRecord[]>;
  /** Called after the commit. */
  committed(derived: Derived): void;
}

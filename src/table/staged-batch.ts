import { ownHeaders, type HeaderFacts, type SharedHeaders } from '../core/cloud-events.ts';
import type { ReadableRow } from '../core/rows/decoded-row.ts';
import type { Change } from '../core/rows/compare-with-published.ts';
import type { DerivedTally } from '../core/sync-stats.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { CollectionName } from '../model/collections.ts';
import { compositeKey } from '../model/keys.ts';
import type { IndexChange } from '../state/index-store.ts';

/** Rows in a transaction from which nothing has been derived yet. */
export interface StagedRows {
  readonly rows: readonly ReadableRow[];
  /** Keys of the rows that are unchanged in the topic. */
  readonly unchanged: ReadonlySet<string>;
  /** Keys of rows that have left the hub, and whose removal is confirmed. */
  readonly gone: readonly string[];
}

/** The records and changes of the index that a view adds to a transaction. */
export interface Derived {
  readonly records: readonly OutgoingRecord[];
  readonly changes: readonly IndexChange[];
  readonly tally: DerivedTally;
  /** Absences that were published although the hub did not answer for ids that they await. */
  readonly publishedOpen: number;
  /** Number of contradictory absences in the index after these changes; null if it is unchanged. */
  readonly contradictions: number | null;
  /** Students of the changed absences. */
  readonly students: ReadonlySet<string>;
}

/** The parts of a change that its record needs. */
export interface RenderedChange extends Pick<HeaderFacts, 'modifiedAtMs' | 'hash'> {
  readonly body: Buffer | null;
}

/** The headers of the rows and rejects of a collection. */
export type StagedHeaders = Readonly<Record<Change['area'], SharedHeaders>>;

/** The records to commit together, and the resulting changes of the index. */
export class StagedBatch {
  readonly transactionId: string;
  readonly records: OutgoingRecord[] = [];
  readonly changes: IndexChange[] = [];
  readonly #collection: CollectionName;
  readonly #isViewed: boolean;
  readonly #headers: StagedHeaders;
  readonly #hashes: Record<Change['area'], Map<string, Buffer | null>> = {
    rows: new Map(),
    rejects: new Map(),
  };
  /** What views have derived from the batch, to report it after the commit. */
  readonly derived: Derived[] = [];
  /** Avro bodies of the rows of the batch, by their values, if something is derived from the rows. */
  readonly bodies = new Map<object, Buffer>();
  /** Rows from which nothing has been derived yet; null for a row that was removed. */
  #rows = new Map<string, ReadableRow | null>();
  #unchanged = new Set<string>();
  #derivedRecords = 0;
  #ownRecords = 0;
  /** The size of the values, without keys and headers. */
  bytes = 0;

  /** `isViewed`: whether something is derived from the rows. */
  constructor(
    transactionId: string,
    of: { collection: CollectionName; headers: StagedHeaders; isViewed: boolean },
  ) {
    this.transactionId = transactionId;
    this.#collection = of.collection;
    this.#headers = of.headers;
    this.#isViewed = of.isViewed;
  }

  /** Number of records, or of rows to derive from if that is larger. */
  get size(): number {
    return Math.max(this.records.length, this.#rows.size);
  }

  get isEmpty(): boolean {
    return this.records.length === 0 && this.changes.length === 0 && this.#rows.size === 0;
  }

  /** The hash that a key will have; null: removed; undefined: the transaction does not change it. */
  hashOf(area: Change['area'], key: string): Buffer | null | undefined {
    return this.#hashes[area].get(key);
  }

  /**
   * The id of a record of `absences` or `absence-changes`: transaction and number. These records are counted
   * separately. `at`: how many such records will be added before this one.
   */
  readonly derivedId = (at: number): string => `${this.transactionId}-${this.#derivedRecords + at}`;

  /** Rows noted since the last call. */
  takeRows(): StagedRows {
    const rows: ReadableRow[] = [];
    const gone: string[] = [];
    for (const [id, row] of this.#rows) {
      if (row === null) gone.push(id);
      else rows.push(row);
    }
    const unchanged = this.#unchanged;
    this.#rows = new Map();
    this.#unchanged = new Set();
    return { rows, unchanged, gone };
  }

  /** Adds what was derived from noted rows. */
  add(derived: Derived): void {
    for (const record of derived.records) {
      this.records.push(record);
      this.bytes += record.body?.length ?? 0;
    }
    for (const change of derived.changes) this.changes.push(change);
    this.#derivedRecords += derived.records.length;
    this.derived.push(derived);
  }

  /** Adds records of published absences, which no row in the transaction causes. */
  reissue(records: readonly OutgoingRecord[]): void {
    for (const record of records) this.records.push(record);
    this.#derivedRecords += records.length;
  }

  /** Notes an unchanged row from which something is derived nevertheless. */
  noteUnchanged(row: ReadableRow): void {
    if (this.#rows.has(row.sourcedId)) return;
    this.#rows.set(row.sourcedId, row);
    this.#unchanged.add(row.sourcedId);
  }

  /** Takes a change back; returns whether there was one. */
  withdraw(area: Change['area'], key: string): boolean {
    if (!this.#hashes[area].delete(key)) return false;
    const place = this.#placeOf(area, key);
    const isIts = (record: OutgoingRecord) => record.topic === place.topic && record.key === place.key;
    this.records.splice(this.records.findLastIndex(isIts), 1);
    const at = this.changes.findLastIndex((change) => change.area === area && change.key === key);
    this.changes.splice(at, 1);
    return true;
  }

  note(change: Change, { body, modifiedAtMs, hash }: RenderedChange): void {
    const { area, key, kind } = change;
    const place = this.#placeOf(area, key);
    const id = `${this.transactionId}-${this.#ownRecords}`;
    this.records.push({
      topic: place.topic,
      key: place.key,
      body,
      headers: ownHeaders({ id, modifiedAtMs, hash }),
      sharedHeaders: this.#headers[area](kind, hash),
    });
    this.#ownRecords += 1;
    this.bytes += body?.length ?? 0;
    this.changes.push({ area, key, value: hash });
    this.#hashes[area].set(key, hash);
    if (change.area !== 'rows' || !this.#isViewed) return;
    const row = change.kind === 'deleted' ? null : change.row;
    this.#rows.set(change.key, row);
    this.#unchanged.delete(change.key);
    if (row !== null && body !== null) this.bodies.set(row.value, body);
  }

  /** Makes sure that nothing is derived from the removal of a row. */
  forgetRow(key: string): void {
    this.#rows.delete(key);
  }

  #placeOf(area: Change['area'], key: string): Pick<OutgoingRecord, 'topic' | 'key'> {
    const topic = this.#collection;
    return area === 'rows' ? { topic, key } : { topic: 'rejects', key: compositeKey(topic, key) };
  }
}

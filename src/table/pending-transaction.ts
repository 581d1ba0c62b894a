import { changeHeaders } from '../core/cloud-events.ts';
import type { Change } from '../core/row-changes.ts';
import type { ReadableRow, RowReader } from '../core/decoded-row.ts';
import type { CollectionName } from '../model/collections.ts';
import { compositeKey } from '../model/keys.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { IndexArea, IndexChange } from '../state/index-store.ts';
import type { Derived, RecordPlace, StagedRows } from './view.ts';

/** Value of a record in `rejects` (avro/rejects.avsc). */
export interface RejectValue {
  readonly collection: string;
  readonly sourcedId: string | null;
  readonly reason: string;
  readonly row: string | null;
  /** ms since the epoch */
  readonly firstSeenAt: number;
}

export interface RenderParts {
  readonly tenantId: string;
  readonly collection: CollectionName;
  readonly reader: Pick<RowReader, 'encode' | 'mapping' | 'rejectValue'>;
  readonly encodeReject: (value: RejectValue) => Buffer;
  readonly now: () => number;
  readonly randomId: () => string;
  /** Whether something is derived from the rows. */
  readonly hasView?: boolean | undefined;
}

/** The records to commit together, and the resulting changes of the index. */
export class PendingTransaction {
  readonly transactionId: string;
  readonly records: OutgoingRecord[] = [];
  readonly changes: IndexChange[] = [];
  readonly #parts: RenderParts;
  readonly #hashes: Record<Change['area'], Map<string, Buffer | null>> = {
    rows: new Map(),
    rejects: new Map(),
  };
  /** What was derived from its rows, for observers after the commit. */
  readonly derived: Derived[] = [];
  /** Avro bodies of its rows, by their values, if something is derived from them. */
  readonly bodies = new Map<object, Buffer>();
  /** Rows of which nothing was derived yet; null for a removed one. */
  #rows = new Map<string, ReadableRow | null>();
  #unchanged = new Set<string>();
  #derivedRecords = 0;
  #ownRecords = 0;
  #bytes = 0;

  constructor(parts: RenderParts) {
    this.#parts = parts;
    this.transactionId = parts.randomId();
  }

  /** Number of records, or of rows to derive from if that is larger. */
  get size(): number {
    return Math.max(this.records.length, this.#rows.size);
  }

  get isEmpty(): boolean {
    return this.records.length === 0 && this.changes.length === 0 && this.#rows.size === 0;
  }

  /** Bytes of the values, without keys and headers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The hash that a key will have; null: removed; undefined: the transaction does not change it. */
  hashOf(area: Change['area'], key: string): Buffer | null | undefined {
    return this.#hashes[area].get(key);
  }

  /** Keys of an area of the index that the transaction changes. */
  keysOf(area: IndexArea): ReadonlySet<string> {
    return new Set(this.changes.flatMap((change) => (change.area === area ? [change.key] : [])));
  }

  /** Transaction and number of the next record of `absences` or `absence-changes`, whose ids have a count of their own. */
  get next(): RecordPlace {
    return { transactionId: this.transactionId, firstRecord: this.#derivedRecords };
  }

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
      this.#bytes += record.body?.length ?? 0;
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

  /** Notes an unchanged row, of which something is derived nevertheless. */
  noteUnchanged(row: ReadableRow): void {
    if (this.#rows.has(row.sourcedId)) return;
    this.#rows.set(row.sourcedId, row);
    this.#unchanged.add(row.sourcedId);
  }

  /** Takes a change back; returns whether there was one. */
  withdraw(area: Change['area'], key: string): boolean {
    if (!this.#hashes[area].delete(key)) return false;
    const topic = area === 'rows' ? this.#parts.collection : 'rejects';
    const recordKey = this.#recordKey(area, key);
    const at = this.records.findLastIndex((record) => record.topic === topic && record.key === recordKey);
    this.records.splice(at, 1);
    this.changes.splice(
      this.changes.findLastIndex((change) => change.area === area && change.key === key),
      1,
    );
    return true;
  }

  note(change: Change): void {
    const { topic, body, hash, modifiedAtMs } = this.#render(change);
    this.records.push({
      topic,
      key: this.#recordKey(change.area, change.key),
      body,
      headers: changeHeaders({
        tenantId: this.#parts.tenantId,
        topic,
        id: `${this.transactionId}-${this.#ownRecords}`,
        kind: change.kind,
        modifiedAtMs,
        hash,
        mapping: this.#parts.reader.mapping,
      }),
    });
    this.#ownRecords += 1;
    this.#bytes += body?.length ?? 0;
    this.changes.push({ area: change.area, key: change.key, value: hash });
    this.#hashes[change.area].set(change.key, hash);
    if (change.area !== 'rows' || this.#parts.hasView !== true) return;
    const row = change.kind === 'deleted' ? null : change.row;
    this.#rows.set(change.key, row);
    this.#unchanged.delete(change.key);
    if (row !== null && body !== null) this.bodies.set(row.value, body);
  }

  /** Nothing is to be derived from a row's removal. */
  forgetRow(key: string): void {
    this.#rows.delete(key);
  }

  #recordKey(area: Change['area'], key: string): string {
    return area === 'rows' ? key : compositeKey(this.#parts.collection, key);
  }

  #render(change: Change): {
    topic: OutgoingRecord['topic'];
    body: Buffer | null;
    hash: Buffer | null;
    modifiedAtMs: number | null;
  } {
    const { collection, reader, encodeReject, now } = this.#parts;
    const topic = change.area === 'rows' ? collection : 'rejects';
    if (change.kind === 'deleted') return { topic, body: null, hash: null, modifiedAtMs: null };
    if (change.area === 'rows') {
      const { row } = change;
      return { topic, body: reader.encode(row.value), hash: row.hash, modifiedAtMs: row.modifiedAtMs };
    }
    const { sourcedId, reason, text, hash, modifiedAtMs } = change.reject;
    const body = encodeReject({ collection, sourcedId, reason, row: text, firstSeenAt: now() });
    return { topic, body, hash, modifiedAtMs };
  }
}

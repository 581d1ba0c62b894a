import type { AbsenceVersionValue } from '../core/chains/chain-row.ts';
import { changeHeaders } from '../core/cloud-events.ts';
import type { Change } from '../core/row-changes.ts';
import type { ReadableRow, RowReader } from '../core/decoded-row.ts';
import type { CollectionName } from '../model/collections.ts';
import { compositeKey } from '../model/keys.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { IndexArea, IndexChange } from '../state/index-store.ts';
import type { ChainOutcome, RecordPlace } from './chains/chain-task.ts';

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
  readonly reader: Pick<RowReader, 'encode' | 'mapping'>;
  readonly encodeReject: (value: RejectValue) => Buffer;
  readonly now: () => number;
  readonly randomId: () => string;
  /** Whether the rows are versions of chains. */
  readonly hasChains?: boolean | undefined;
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
  /** The results of the chains of its versions, for observers after the commit. */
  readonly outcomes: ChainOutcome[] = [];
  /** Avro bodies of its versions, by their values. */
  readonly bodies = new Map<object, Buffer>();
  #versions = new Map<string, AbsenceVersionValue | null>();
  #chainRecords = 0;
  #bytes = 0;

  constructor(parts: RenderParts) {
    this.#parts = parts;
    this.transactionId = parts.randomId();
  }

  /** Number of records, or of versions if that is larger. */
  get size(): number {
    return Math.max(this.records.length, this.#versions.size);
  }

  get isEmpty(): boolean {
    return this.records.length === 0 && this.changes.length === 0 && this.#versions.size === 0;
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
    return { transactionId: this.transactionId, firstRecord: this.#chainRecords };
  }

  /** Versions noted since the last call: present values, and ids of departed versions. */
  takeVersions(): { versions: readonly AbsenceVersionValue[]; vanished: readonly string[] } {
    const versions: AbsenceVersionValue[] = [];
    const vanished: string[] = [];
    for (const [id, value] of this.#versions) {
      if (value === null) vanished.push(id);
      else versions.push(value);
    }
    this.#versions = new Map();
    return { versions, vanished };
  }

  /** Adds the result of the chains of noted versions. */
  add(outcome: ChainOutcome): void {
    for (const record of outcome.records) {
      this.records.push(record);
      this.#bytes += record.body?.length ?? 0;
    }
    for (const change of outcome.changes) this.changes.push(change);
    this.#chainRecords += outcome.records.length;
    this.outcomes.push(outcome);
  }

  /** Adds records of published absences, which no version in the transaction causes. */
  reissue(records: readonly OutgoingRecord[]): void {
    for (const record of records) this.records.push(record);
    this.#chainRecords += records.length;
  }

  /** Notes an unchanged version, whose chain is derived nevertheless. */
  noteUnchanged({ sourcedId, value }: ReadableRow): void {
    if (!this.#versions.has(sourcedId)) this.#versions.set(sourcedId, value as AbsenceVersionValue);
  }

  note(change: Change): void {
    const { topic, body, hash, modifiedAtMs } = this.#render(change);
    this.records.push({
      topic,
      key: change.area === 'rows' ? change.key : compositeKey(this.#parts.collection, change.key),
      body,
      headers: changeHeaders({
        tenantId: this.#parts.tenantId,
        topic,
        id: `${this.transactionId}-${this.records.length}`,
        kind: change.kind,
        modifiedAtMs,
        hash,
        mapping: this.#parts.reader.mapping,
      }),
    });
    this.#bytes += body?.length ?? 0;
    this.changes.push({ area: change.area, key: change.key, value: hash });
    this.#hashes[change.area].set(change.key, hash);
    if (change.area === 'rows' && this.#parts.hasChains === true) {
      const version = change.kind === 'deleted' ? null : (change.row.value as AbsenceVersionValue);
      this.#versions.set(change.key, version);
      if (version !== null && body !== null) this.bodies.set(version, body);
    }
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

import { createEventEncoder, type AbsenceChangeValue } from '../../../../src/core/absence-change.ts';
import { createValueCodec } from '../../../../src/core/value-codec.ts';
import type { AbsenceVersionValue } from '../../../../src/core/absences/absence-version.ts';
import type { ReadableRow } from '../../../../src/core/decoded-row.ts';
import type { LoggedRecord, OutgoingRecord, TenantLog } from '../../../../src/log/log.ts';
import { readSchemaFiles } from '../../../../src/log/schema-files.ts';
import type { TopicSuffix } from '../../../../src/model/collections.ts';
import { AbsenceView } from '../../../../src/absences/absence-view.ts';
import type { AbsenceTenant } from '../../../../src/absences/render-absences.ts';
import { frame, FRAME_BYTES } from '../../../../src/log/framing.ts';
import type { Derived, ViewedSync, ViewedTransaction } from '../../../../src/table/view.ts';
import { areasOf, type IndexChange } from '../../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../../src/state/memory-index.ts';

const files = readSchemaFiles();
const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
const changeCodec = createValueCodec<AbsenceChangeValue>(schemaOf('absence-changes'));

function schemaOf(topic: TopicSuffix) {
  const file = files.get(topic);
  if (file === undefined) throw new Error(`there is no schema of ${topic}`);
  return file.schema;
}

/** A table of versions in memory: commits apply at once, and the hub answers what `hub` says. */
export class ViewedTable {
  readonly index = new MemoryIndex({ name: 'north/absence-versions', areas: areasOf('absence-versions') });
  /** What the hub has by id; null: it does not answer. */
  hub: ReadonlyMap<string, ReadableRow> | null = new Map();
  /** Ids that its answers leave out. */
  readonly unanswered = new Set<string>();
  nowMs = Date.UTC(2026, 2, 2, 9);
  readonly records: OutgoingRecord[] = [];
  readonly rejected: string[] = [];
  readonly asked: string[][] = [];
  lookUps = 0;
  readonly #view: AbsenceView;
  #rows: ReadableRow[] = [];
  #unchanged = new Set<string>();
  #gone: string[] = [];
  #changes: IndexChange[] = [];
  #staged: OutgoingRecord[] = [];
  #transaction = 0;
  #hashes = new Map<string, Buffer>();

  /** `onRead`: called before a topic is read from its beginning; returns its records by key. */
  constructor(onRead: (topic: string) => Readonly<Record<string, AbsenceVersionValue>> = () => ({})) {
    const absences = {
      reader: {
        mapping: null,
        encode: (value: object) => versionCodec.toBuffer(value as AbsenceVersionValue),
      },
      encodeEvent: createEventEncoder(schemaOf('absence-changes')),
      decodeVersion: (body: Buffer) => versionCodec.fromBuffer(body),
      decode: (framed: Buffer) => Promise.resolve(versionCodec.fromBuffer(framed.subarray(FRAME_BYTES))),
      absentSinceMs: () => 0,
      forgetAfterMs: 30 * 24 * 3_600_000,
      onStudents: () => undefined,
    };
    const read: TenantLog['read'] = async ({ from, onBatch }) => {
      for (const { topic } of from) {
        const records = Object.entries(onRead(topic)).map(([key, value]) => {
          const framed = frame(1, versionCodec.toBuffer(value));
          return { topic, key, value: framed, mapping: null } as LoggedRecord;
        });
        if (records.length > 0) await onBatch(records);
      }
    };
    this.#view = new AbsenceView(
      {
        tenantId: 'north',
        state: { collection: () => this.index },
        log: { read },
        absences,
        runtime: { now: () => this.nowMs },
        emit: () => undefined,
      } as unknown as AbsenceTenant,
      {},
      new AbortController().signal,
    );
  }

  /** Events in `absence-changes`, decoded, in their order. */
  get events(): AbsenceChangeValue[] {
    return this.records.flatMap(({ topic, body }) =>
      topic === 'absence-changes' && body !== null ? [changeCodec.fromBuffer(body)] : [],
    );
  }

  /** The events, each as `key/step OPERATION version CAUSE`. */
  get story(): string[] {
    return this.events.map(({ absenceId, step, operation, version, cause }) =>
      [`${absenceId}/${step}`, operation, version.sourcedId, cause === 'HUB' ? [] : cause].flat().join(' '),
    );
  }

  /** What `absences` shows: the version by absence id. */
  get shown(): Record<string, string> {
    const shown: Record<string, string> = {};
    for (const { topic, key, body } of this.records) {
      if (topic !== 'absences') continue;
      if (body === null) delete shown[key];
      else shown[key] = versionCodec.fromBuffer(body).sourcedId;
    }
    return shown;
  }

  /** Commits rows in the middle of a sync. */
  async page(rows: readonly ReadableRow[], gone: readonly string[] = [], unchanged: readonly string[] = []) {
    await this.#run(rows, gone, unchanged, {});
  }

  /** Ends a sync with these rows. */
  async end(rows: readonly ReadableRow[] = [], gone: readonly string[] = [], sync: Partial<ViewedSync> = {}) {
    await this.#run(rows, gone, [], { end: { isComplete: true }, ...sync });
  }

  async #run(
    rows: readonly ReadableRow[],
    gone: readonly string[],
    unchanged: readonly string[],
    sync: Partial<ViewedSync>,
  ): Promise<void> {
    this.#stage(rows, gone);
    for (const id of unchanged) this.#unchanged.add(id);
    const facts = { isFirstLoad: false, isBesideFull: false, end: null, ...sync };
    await this.#view.derive(this.#transactionNow(), facts);
    await this.#commit();
  }

  /** The entries of absences in the index. */
  entriesOf(...absenceIds: string[]) {
    return this.index.lookup('absences', absenceIds, this.#position());
  }

  countRows() {
    return this.#view.countRows([], (area, keys) => this.index.lookup(area, keys, this.#position()));
  }

  #stage(rows: readonly ReadableRow[], gone: readonly string[]): void {
    this.#rows.push(...rows);
    this.#gone.push(...gone);
    for (const { sourcedId, hash } of rows) this.#hashes.set(sourcedId, hash);
    for (const id of gone) this.#hashes.delete(id);
  }

  #position(): string | null {
    return this.#transaction === 0 ? null : `t${this.#transaction}`;
  }

  async #commit(): Promise<void> {
    const before = this.#position();
    this.#transaction += 1;
    await this.index.apply(
      before,
      {
        transactionId: `t${this.#transaction}`,
        sequence: this.#transaction,
        committedAtMs: this.nowMs,
        offsets: {},
      },
      this.#changes,
    );
    this.records.push(...this.#staged);
    [this.#changes, this.#staged] = [[], []];
  }

  #transactionNow(): ViewedTransaction {
    const isEmpty = (): boolean =>
      this.#rows.length + this.#gone.length + this.#changes.length + this.#staged.length === 0;
    return {
      get isEmpty() {
        return isEmpty();
      },
      isFull: false,
      place: { transactionId: `t${this.#transaction + 1}`, firstRecord: 0 },
      takeRows: () => {
        const taken = { rows: this.#rows, unchanged: this.#unchanged, gone: this.#gone };
        [this.#rows, this.#unchanged, this.#gone] = [[], new Set(), []];
        return taken;
      },
      bodyOf: () => undefined,
      hashesOf: (keys) => Promise.resolve(new Map(keys.map((key) => [key, this.#hashes.get(key) ?? null]))),
      lookUp: (area, keys) => {
        this.lookUps += 1;
        return this.index.lookup(area, keys, this.#position());
      },
      changedKeys: (area) => new Set(this.#changes.flatMap((each) => (each.area === area ? [each.key] : []))),
      add: ({ records, changes }: Derived) => {
        this.#staged.push(...records);
        this.#changes.push(...changes);
      },
      reject: (rows) => {
        this.rejected.push(...rows.map(({ sourcedId }) => sourcedId));
        return Promise.resolve();
      },
      ask: (keys) => {
        this.asked.push([...keys]);
        if (this.hub === null) return Promise.resolve(false);
        this.#stage(
          keys.flatMap((key) => this.hub?.get(key) ?? []),
          [],
        );
        return Promise.resolve(keys.every((key) => !this.unanswered.has(key)));
      },
      commit: () => this.#commit(),
    };
  }
}

/** A row of `absence-versions`. */
export function version(
  sourcedId: string,
  more: {
    replaces?: string;
    replacedBy?: string;
    deletedTime?: number;
    studentId?: string;
    content?: number;
  } = {},
): ReadableRow {
  const { replaces, replacedBy, deletedTime = null, studentId = 's1', content = 0 } = more;
  const value: AbsenceVersionValue = {
    sourcedId,
    student: { sourcedId: studentId },
    fromTime: 1_000,
    toTime: 2_000,
    deletedTime,
    replaces: replaces === undefined ? null : { sourcedId: replaces },
    replacedBy: replacedBy === undefined ? null : { sourcedId: replacedBy },
  };
  return {
    kind: 'row',
    sourcedId,
    value,
    hash: Buffer.alloc(16, 1 + content),
    modifiedAtMs: null,
    studentId,
  };
}

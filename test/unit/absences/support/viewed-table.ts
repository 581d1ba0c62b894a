import { createHash } from 'node:crypto';
import { createEventEncoder, type AbsenceChangeValue } from '../../../../src/core/absences/event-encoder.ts';
import { createValueCodec } from '../../../../src/core/value-codec.ts';
import type { AbsenceVersionValue } from '../../../../src/core/absences/absence-version.ts';
import type { ReadableRow } from '../../../../src/core/decoded-row.ts';
import type { LoggedRecord, OutgoingRecord, TenantLog } from '../../../../src/log/log.ts';
import { AbsenceView } from '../../../../src/absences/absence-view.ts';
import type { AbsenceTenant } from '../../../../src/absences/render-absences.ts';
import { frame, FRAME_BYTES } from '../../../../src/log/framing.ts';
import { newSyncStats } from '../../../../src/core/sync-stats.ts';
import { TransactionSize } from '../../../../src/core/transaction-size.ts';
import type { KeyedRow } from '../../../../src/core/row-changes.ts';
import { HubError } from '../../../../src/hub/hub-error.ts';
import type { FetchedRows } from '../../../../src/source/source.ts';
import { areasOf, type CollectionIndex } from '../../../../src/state/index-store.ts';
import type { ActiveSync } from '../../../../src/table/active-sync.ts';
import { StagedBatch } from '../../../../src/table/staged-batch.ts';
import { Table, type ViewedSync } from '../../../../src/table/table.ts';
import type { TenantCollection } from '../../../../src/table/tenant.ts';
import { schemaOf } from '../../core/support/rows.ts';
import { withOther } from '../../../simulation/parts/with-other.ts';
import { MemoryIndex } from '../../../../src/state/memory-index.ts';

const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
const changeCodec = createValueCodec<AbsenceChangeValue>(schemaOf('absence-changes'));

/** A table of versions in memory with its view: commits apply at once, and the hub answers what `hub` says. */
export class ViewedTable {
  readonly index = new MemoryIndex({ name: 'north/absence-versions', areas: areasOf('absence-versions') });
  /** What the hub has by id; null: it does not answer. */
  hub: ReadonlyMap<string, ReadableRow> | null = new Map();
  nowMs = Date.UTC(2026, 2, 2, 9);
  readonly records: OutgoingRecord[] = [];
  readonly asked: string[][] = [];
  /** Of the view. */
  lookUps = 0;
  readonly #view: AbsenceView;
  readonly #table: Table;
  #transactions = 0;

  /** `onRead`: called before a topic is read from its beginning; returns its records by key. */
  constructor(onRead: (topic: string) => Readonly<Record<string, AbsenceVersionValue>> = () => ({})) {
    const reader = {
      mapping: null,
      encode: (value: object) => versionCodec.toBuffer(value as AbsenceVersionValue),
      rejectValue: ({ sourcedId }: { sourcedId: string }, reason: string) => {
        const rest = { reason, text: null, hash: Buffer.alloc(16, 9), modifiedAtMs: null };
        return { kind: 'reject', sourcedId, rejectId: sourcedId, ...rest };
      },
    };
    const absences = {
      reader,
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
    const tenant = {
      tenantId: 'north',
      state: { collection: () => this.#counted() },
      log: { read },
      absences,
      runtime: { now: () => this.nowMs, randomId: () => `t${this.#transactions}` },
      emit: () => undefined,
    } as unknown as AbsenceTenant;
    const source = { fetchRows: (ids: readonly string[]) => this.#answer(ids) };
    this.#view = new AbsenceView(tenant, source, new AbortController().signal);
    const settings = {
      name: 'absence-versions',
      reader,
      encodeReject: () => Buffer.alloc(1),
      size: new TransactionSize(),
    } as unknown as TenantCollection;
    this.#table = new Table(tenant, settings, { view: this.#view });
  }

  #counted(): CollectionIndex {
    return withOther<CollectionIndex>(this.index, {
      lookup: (area, keys, at) => {
        if (area !== 'rows' && area !== 'rejects') this.lookUps += 1;
        return this.index.lookup(area, keys, at);
      },
    });
  }

  async #answer(ids: readonly string[]): Promise<FetchedRows> {
    this.asked.push([...ids]);
    if (this.hub === null) throw new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });
    const rows = ids.flatMap((id) => this.hub?.get(id) ?? []);
    return rows.map((row) => ({ rows: [keyed(row)], readVersion: this.#table.readVersion }));
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

  /** Ids of versions that were rejected, those included that are no longer. */
  get rejected(): string[] {
    const rejects = this.records.filter(({ topic, body }) => topic === 'rejects' && body !== null);
    return rejects.map(({ key }) => key.slice('absence-versions|'.length));
  }

  /** Commits rows in the middle of a sync. `kept`: ids of rows that are derived from even if they are unchanged. */
  page = (rows: readonly ReadableRow[], gone: readonly string[] = [], kept: readonly string[] = []) =>
    this.#run(rows, gone, kept, {});

  /** Ends a sync with these rows. */
  end = (rows: readonly ReadableRow[] = [], gone: readonly string[] = [], sync: Partial<ViewedSync> = {}) =>
    this.#run(rows, gone, [], { end: { isComplete: true }, ...sync });

  async #run(
    rows: readonly ReadableRow[],
    gone: readonly string[],
    kept: readonly string[],
    facts: Partial<ViewedSync>,
  ): Promise<void> {
    if (this.#transactions === 0) await this.#begin();
    const stats = newSyncStats({ syncId: 's', mode: 'INCREMENTAL', startedAtMs: this.nowMs });
    const none = { seen: null, seenByOthers: null, seenRejects: null };
    const active: ActiveSync = { stats, isFull: false, ...none, readVersion: this.#table.readVersion };
    const page = { rows: rows.map(keyed), readVersion: this.#table.readVersion };
    const keptRows = page.rows.filter(({ key }) => key !== null && kept.includes(key));
    await this.#table.decide(active, page, { seenBefore: new Set(), kept: keptRows });
    await this.#table.remove(active, 'rows', gone);
    const commit = (): Promise<void> => this.#commit();
    const sync = { active, isFirstLoad: false, isBesideFull: false, end: null, commit, ...facts };
    await this.#view.derive(this.#table, sync);
    await this.#commit();
  }

  async #begin(): Promise<void> {
    const position = { sequence: 0, transactionId: 't0', committedAtMs: 0, offsets: {} };
    await (await this.index.rebuild()).finish(position);
    this.#transactions = 1;
    this.#table.indexed = 't0';
    this.#table.staged = new StagedBatch('t1', 'absence-versions', true);
  }

  async #commit(): Promise<void> {
    const { transactionId, records } = this.#table.staged;
    const sequence = this.#transactions;
    this.records.push(...records.filter(({ topic }) => topic !== 'absence-versions'));
    this.#transactions += 1;
    await this.#table.apply({ transactionId, sequence, committedAtMs: this.nowMs, offsets: {} });
  }

  /** The entries of absences in the index. */
  entriesOf(...absenceIds: string[]) {
    return this.#table.lookUpCommitted('absences', absenceIds);
  }

  countRows() {
    return this.#view.countRows([], this.#table.lookUpCommitted);
  }
}

function keyed(row: ReadableRow): KeyedRow {
  return { key: row.sourcedId, rejectKey: row.sourcedId, decoded: row };
}

interface VersionFacts {
  readonly replaces?: string;
  readonly replacedBy?: string;
  readonly deletedTime?: number;
  readonly studentId?: string;
  readonly content?: number;
}

/** A row of `absence-versions`. */
export function version(sourcedId: string, more: VersionFacts = {}): ReadableRow {
  const { replaces, replacedBy, deletedTime = null, studentId = 's1', content = 0 } = more;
  const reference = (id: string | undefined) => (id === undefined ? null : { sourcedId: id });
  const links = { replaces: reference(replaces), replacedBy: reference(replacedBy) };
  const student = { sourcedId: studentId };
  const value: AbsenceVersionValue = {
    sourcedId,
    student,
    fromTime: 1_000,
    toTime: 2_000,
    deletedTime,
    ...links,
  };
  const hash = createHash('md5').update(JSON.stringify([value, content]));
  return { kind: 'row', sourcedId, value, hash: hash.digest(), modifiedAtMs: null, studentId };
}

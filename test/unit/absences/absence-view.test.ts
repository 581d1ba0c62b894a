import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createEventEncoder, type AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import type { ReadableRow } from '../../../src/core/decoded-row.ts';
import type { LoggedRecord, OutgoingRecord, TenantLog } from '../../../src/log/log.ts';
import { decodeEntry } from '../../../src/core/absences/entry-codec.ts';
import { AbsenceView } from '../../../src/absences/absence-view.ts';
import type { AbsenceTenant } from '../../../src/absences/render-absences.ts';
import { frame, FRAME_BYTES } from '../../../src/log/framing.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { TransactionSize } from '../../../src/core/transaction-size.ts';
import type { KeyedRow } from '../../../src/core/row-changes.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { FetchedRows } from '../../../src/source/source.ts';
import { areasOf, type CollectionIndex } from '../../../src/state/index-store.ts';
import type { ActiveSync } from '../../../src/table/active-sync.ts';
import { StagedBatch } from '../../../src/table/staged-batch.ts';
import { Table, type ViewedSync } from '../../../src/table/table.ts';
import type { TenantCollection } from '../../../src/table/tenant.ts';
import { schemaOf } from '../core/support/rows.ts';
import { withOther } from '../../simulation/parts/with-other.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';

const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
const changeCodec = createValueCodec<AbsenceChangeValue>(schemaOf('absence-changes'));

/** A table of versions in memory with its view: commits apply at once, and the hub answers what `hub` says. */
class ViewedTable {
  readonly index = new MemoryIndex({ name: 'north/absence-versions', areas: areasOf('absence-versions') });
  /** What the hub has by id; null: it does not answer. */
  hub: ReadonlyMap<string, ReadableRow> | null = new Map();
  nowMs = Date.UTC(2026, 2, 2, 9);
  readonly records: OutgoingRecord[] = [];
  readonly asked: string[][] = [];
  /** As each derivation told it at its commit. */
  readonly contradictions: (number | null)[] = [];
  /** Of the view. */
  lookUps = 0;
  /** Of both topics. */
  rows: Readonly<Record<string, number>> = {};
  readonly #view: AbsenceView;
  readonly #table: Table;
  #transactions = 0;

  /** `onRead`: called before a topic is read from its beginning; returns its records by key. */
  constructor(onRead: (topic: string) => Readonly<Record<string, object>> = () => ({})) {
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
          const framed = frame(1, versionCodec.toBuffer(value as AbsenceVersionValue));
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
      emit: (event: { readonly contradictions: number | null }) =>
        this.contradictions.push(event.contradictions),
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
    const { transactionId, records, changes, derived } = this.#table.staged;
    const sequence = this.#transactions;
    this.records.push(...records.filter(({ topic }) => topic !== 'absence-versions'));
    this.#transactions += 1;
    const { lookUps } = this;
    const count = (staged: typeof changes) => this.#view.countRows(staged, this.#table.lookUpCommitted);
    const expected = await count(changes);
    await this.#table.apply({ transactionId, sequence, committedAtMs: this.nowMs, offsets: {} });
    for (const each of derived) this.#view.committed(each);
    this.rows = await count([]);
    this.lookUps = lookUps;
    // What is staged counts as it does once it is committed.
    expect(expected).toEqual(this.rows);
  }

  /** The versions of an absence in the index, and its last step. */
  async entryOf(absenceId: string) {
    const [bytes] = await this.#table.lookUpCommitted('absences', [absenceId]);
    const { members, published } = decodeEntry(absenceId, bytes ?? Buffer.alloc(0));
    return { states: members.map(({ state }) => state), step: published?.step };
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
function version(sourcedId: string, more: VersionFacts = {}): ReadableRow {
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

const V1 = version('v1');
const V1_REPLACED = version('v1', { replacedBy: 'v2', content: 1 });
const V2 = version('v2', { replaces: 'v1' });
const MONTH_MS = 32 * 24 * 3_600_000;

test('a page takes two round trips to the index, however long the absences are', async () => {
  const table = new ViewedTable();
  for (let at = 1; at < 9; at += 1)
    await table.page([version(`v${at}`, at === 1 ? {} : { replaces: `v${at - 1}` })]);
  table.lookUps = 0;
  await table.page([version('v9', { replaces: 'v8' })]);
  // pointers and entries of the ids; then the entries pointed to
  expect(table.lookUps).toBe(3);
  expect(table.story).toHaveLength(9);
});

test('the rows of both topics do not count what is unpublished, forgotten or hidden; a forgotten key is nulled and begins anew', async () => {
  const table = new ViewedTable();
  await table.page([V1, version('w', { deletedTime: 5 }), version('x2', { replaces: 'x1' })]);
  expect(table.rows).toEqual({ 'absence-changes': 2, absences: 1 });
  // its deletion waits for the awaited id
  await table.page([version('v1', { replacedBy: 'y', deletedTime: 5 })]);
  expect(table.rows).toEqual({ 'absence-changes': 2, absences: 0 });
  await table.page([V1]);
  table.nowMs += MONTH_MS;
  await table.end();
  expect(table.rows).toEqual({ 'absence-changes': 2, absences: 2 });
  const forgotten = table.records.findLast(({ key }) => key === 'w');
  expect(forgotten).toMatchObject({ topic: 'absence-changes', body: null });
  await table.end([version('w', { content: 1 })]);
  expect(table.story.at(-1)).toBe('w/1 CREATED w');
});

test('an absence whose list changes in the transaction that would forget it is forgotten later, with that change', async () => {
  const table = new ViewedTable();
  await table.end([V1_REPLACED, version('v2', { replaces: 'v1', deletedTime: 5 })]);
  table.nowMs += MONTH_MS;
  await table.end([], ['v1']);
  await table.end();
  expect(await table.entryOf('v1')).toEqual({ states: ['gone', 'present'], step: 0 });
});

test('an index with a damaged entry is made again', async () => {
  const table = new ViewedTable();
  await table.page([V1]);
  const position = await table.index.position();
  if (position === null) throw new Error('there is no index');
  await table.index.apply('t1', position, [{ area: 'absences', key: 'v1', value: Buffer.from([3]) }]);
  await expect(table.page([V1_REPLACED])).rejects.toMatchObject({ code: 'INDEX_DIVERGED' });
  expect(await table.index.position()).toBeNull();
});

test('awaited ids are asked for at the end of the sync in at most three rounds, and what the hub has joins', async () => {
  const table = new ViewedTable();
  const chain = Array.from({ length: 9 }, (_each, at) => version(`v${at + 1}`, { replaces: `v${at}` }));
  table.hub = new Map(chain.map((row) => [row.sourcedId, row]));
  await table.end(chain.slice(-1));
  expect(table.asked).toEqual([['v8'], ['v7'], ['v6']]);
  expect(table.story.slice(0, 2)).toEqual(['v6/1 CREATED v6', 'v6/2 REPLACED v7']);
});

test('an absence stays open while the hub does not answer, at most five minutes', async () => {
  const table = new ViewedTable();
  table.hub = null;
  const stories: string[][] = [];
  for (const laterMs of [0, 4 * 60_000, 61_000]) {
    table.nowMs += laterMs;
    await table.end(laterMs === 0 ? [V2] : []);
    stories.push(table.story);
  }
  expect(stories).toEqual([[], [], ['v2/1 CREATED v2']]);
});

test('awaited ids that the hub has not are ignored from the end of the sync on, and left to a full sync that runs beside', async () => {
  const table = new ViewedTable();
  await table.end([V2], [], { isBesideFull: true });
  expect([table.asked, table.story]).toEqual([[], []]);
  await table.end();
  expect(table.story).toEqual(['v2/1 CREATED v2']);
  await table.end([version('v2', { replaces: 'v1', content: 1 })]);
  expect(table.asked).toHaveLength(1);
});

test('a sync asks for at most 2,000 awaited ids; the others are ignored unasked', async () => {
  const table = new ViewedTable();
  await table.end(Array.from({ length: 2_500 }, (_each, at) => version(`v${at}`, { replaces: `gone${at}` })));
  expect(table.asked.flat()).toHaveLength(2_000);
  expect(table.story).toHaveLength(2_500);
});

test('records of what vanished come from one pass over `absences`, at the end of the sync', async () => {
  const passes: string[] = [];
  const table = new ViewedTable((topic) => {
    passes.push(topic);
    return { v1: V1.value };
  });
  await table.page([V1]);
  await table.page([], ['v1']);
  expect([table.story.length, passes]).toEqual([1, []]);
  await table.end();
  expect(passes).toEqual(['absences']);
  const version = { student: { sourcedId: 's1' } };
  expect(table.events.at(-1)).toMatchObject({ operation: 'DELETED', version });
});

test('a version read with another student is rejected and counted, ends its absence with the sync, and is no longer counted then', async () => {
  const table = new ViewedTable(() => ({ v1: V1.value }));
  const other = version('v1', { studentId: 's2' });
  // the mapped student does not matter
  const student = { sourcedId: 'a pseudonym' };
  await table.page([{ ...V1, value: { ...V1.value, student } }]);
  await table.page([other, version('w', { replaces: 'w' })]);
  expect(table.records).toContainEqual(
    expect.objectContaining({ topic: 'rejects', key: 'absence-versions|v1' }),
  );
  expect(table.contradictions.at(-1)).toBe(2);
  await table.end();
  expect(table.events.at(-1)).toMatchObject({ operation: 'DELETED', absenceId: 'v1' });
  await table.end([other]);
  expect(table.story.at(-1)).toBe('v1/1 CREATED v1');
  expect(table.contradictions.filter((count) => count !== null)).toEqual([2, 1]);
});

test('unchanged rows derive what is lacking, and show nothing again', async () => {
  const table = new ViewedTable();
  await table.page([V1], [], ['v1']);
  await table.page([V1], [], ['v1']);
  expect(table.records.map(({ topic }) => topic)).toEqual(['absence-changes', 'absences']);
});

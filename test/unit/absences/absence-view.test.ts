import { createHash } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { AbsenceView } from '../../../src/absences/absence-view.ts';
import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import type { ReadableRow } from '../../../src/core/rows/decoded-row.ts';
import type { KeyedRow } from '../../../src/core/rows/compare-with-published.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import { frame } from '../log/support/frame.ts';
import type { LoggedRecord, OutgoingRecord, TenantLog } from '../../../src/log/log.ts';
import { DERIVED_COLLECTIONS, STATE_TOPIC } from '../../../src/model/collections.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import type { FetchedRows } from '../../../src/source/source.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import type { ActiveSync } from '../../../src/table/active-sync.ts';
import type { Completion } from '../../../src/table/collection-progress.ts';
import type { CollectionWriter } from '../../../src/table/collection-writer.ts';
import type { TenantAbsences } from '../../../src/table/tenant.ts';
import { changeCodec, decodeFramed, encodeEvent } from '../../simulation/chains/chain-codecs.ts';
import { absencesReader } from '../core/support/rows.ts';
import { madeCollection, madeSync } from '../pipeline/support/made-collection.ts';

const reader = absencesReader();

/** A collection of versions in memory with its view; the hub answers what `hub` says. */
class ViewedTable {
  /** What the hub has by id; null: it does not answer. */
  hub: ReadonlyMap<string, ReadableRow> | null = new Map();
  nowMs = Date.UTC(2026, 2, 2, 9);
  readonly records: OutgoingRecord[] = [];
  readonly asked: string[][] = [];
  /** The topics that were read from their beginning. */
  readonly passes: string[] = [];
  readonly #state = createMemoryStore().tenant('north');
  readonly index = this.#state.collection('absence-versions');
  readonly writer: Promise<CollectionWriter>;

  /** `published`: the records of each topic that is read. */
  constructor(published: Readonly<Record<string, object>> = {}) {
    const absences = {
      reader,
      encodeEvent,
      decode: decodeFramed,
      absentSinceMs: () => 0,
      forgetAfterMs: 30 * 24 * 3_600_000,
      onStudents: () => undefined,
    } as unknown as TenantAbsences;
    const read: TenantLog['read'] = async ({ from, onBatch }) => {
      for (const { topic } of from) {
        this.passes.push(topic);
        const records = Object.entries(published).map(([key, value]) => {
          const framed = frame(1, reader.encode(value));
          return { topic, key, value: framed, mapping: null } as LoggedRecord;
        });
        await onBatch(records);
      }
    };
    const made = madeCollection({
      name: 'absence-versions',
      state: this.#state,
      settings: { reader },
      runtime: { now: () => this.nowMs },
      commit: ({ records }) => {
        const internal = new Set<string>(['absence-versions', STATE_TOPIC]);
        this.records.push(...records.filter(({ topic }) => !internal.has(topic)));
        return {};
      },
      start: {
        derived: new Map(DERIVED_COLLECTIONS.map((name) => [name, null])),
        isChangelogComplete: true,
        isFirstLoadOver: true,
      },
      view: (tenant) => {
        const viewed = Object.assign(tenant, { absences, log: { ...tenant.log, read } });
        const source = { fetchRows: (ids: readonly string[]) => this.#answer(ids) };
        return new AbsenceView(viewed, source, new AbortController().signal);
      },
    });
    this.writer = made.then(({ writer }) => writer);
  }

  async #answer(ids: readonly string[]): Promise<FetchedRows> {
    this.asked.push([...ids]);
    if (this.hub === null) throw new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });
    const rows = ids.flatMap((id) => this.hub?.get(id) ?? []);
    const readVersion = (await this.writer).readVersion();
    return rows.map((row) => ({ rows: [keyed(row)], readVersion }));
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

  /** Commits rows in the middle of a sync. */
  page = (rows: readonly ReadableRow[], gone: readonly string[] = [], mode: SyncMode = 'INCREMENTAL') =>
    this.#run(rows, gone, mode, { kind: 'none' });

  /** Ends a sync with these rows. */
  end = (rows: readonly ReadableRow[] = [], gone: readonly string[] = []) =>
    this.#run(rows, gone, 'INCREMENTAL', { kind: 'complete', watermarkMs: 0, isWhole: true });

  async #run(
    rows: readonly ReadableRow[],
    gone: readonly string[],
    mode: SyncMode,
    completion: Completion,
  ): Promise<ActiveSync['stats']> {
    const writer = await this.writer;
    const readVersion = writer.readVersion();
    const sync = madeSync(mode, { readVersion });
    await writer.accept(sync, { rows: rows.map(keyed), readVersion });
    await writer.remove(sync, 'rows', gone);
    await writer.flush(sync, completion);
    return sync.stats;
  }
}

function keyed(row: ReadableRow): KeyedRow {
  return { key: row.sourcedId, rejectKey: row.sourcedId, decoded: row };
}

/** `b<a>c!@2` is the version b of student 2, which replaces a, is replaced by c and is deleted; `#1`: with another content. */
function version(text: string): ReadableRow {
  const found = /^(\w+)(?:<(\w+))?(?:>(\w+))?(!?)(?:@(.))?/.exec(text) ?? [];
  const [, sourcedId = '', replaces, replacedBy, deleted, student = '1'] = found;
  const reference = (id?: string) => (id === undefined ? null : { sourcedId: id });
  const studentId = `s${student}`;
  const links = { replaces: reference(replaces), replacedBy: reference(replacedBy) };
  const deletedTime = deleted === '!' ? 5 : null;
  const value = {
    sourcedId,
    student: reference(studentId),
    fromTime: 1_000,
    toTime: 2_000,
    deletedTime,
    ...links,
  };
  const hash = createHash('md5').update(text).digest();
  return { kind: 'row', sourcedId, value, hash, modifiedAtMs: null, studentId };
}

const V1 = version('v1');
const V1_REPLACED = version('v1>v2#1');
const V2 = version('v2<v1');

test('a page of absence versions costs two round trips to the index, however long the lists are', async () => {
  const table = new ViewedTable();
  for (let at = 1; at < 9; at += 1) await table.page([version(at === 1 ? 'v1' : `v${at}<v${at - 1}`)]);
  const lookUp = vi.spyOn(table.index, 'lookup');
  await table.page([version('v9<v8')]);
  // pointers and entries of the ids; then the entries pointed to
  expect(lookUp.mock.calls.filter(([area]) => area !== 'rows' && area !== 'rejects')).toHaveLength(3);
  expect(table.story).toHaveLength(9);
});

test('an absence first read as deleted waits for a full sync, but a published one is deleted at once', async () => {
  const table = new ViewedTable();
  const over = [version('a!'), version('c<b!')];
  expect(await table.page(over)).toMatchObject({ rowsAlreadyDeleted: 2 });
  await table.page([version('live'), version('late>late2')]);
  await table.page([version('live2<live!'), version('late2!')]);
  expect(table.story.toSorted()).toEqual([
    'late/1 CREATED late',
    'late/2 REPLACED late2',
    'late/3 DELETED late2',
    'live/1 CREATED live',
    'live/2 REPLACED live2',
    'live/3 DELETED live2',
  ]);
  expect(await table.page(over, [], 'FULL')).toMatchObject({ rowsAlreadyDeleted: 0, rowsCreated: 2 });
});

test('an index with a damaged entry of an absence is dropped, so that it is rebuilt', async () => {
  const table = new ViewedTable();
  await table.page([V1]);
  const position = await table.index.position();
  if (position === null) throw new Error('there is no index');
  await table.index.apply(position.transactionId, position, [
    { area: 'absences', key: 'v1', value: Buffer.from([3]) },
  ]);
  await expect(table.page([V1_REPLACED])).rejects.toMatchObject({ code: 'INDEX_DIVERGED' });
  expect(await table.index.position()).toBeNull();
});

test('a sync asks for awaited ids until the hub shows no further one, and rows found join their lists', async () => {
  const table = new ViewedTable();
  const chain = Array.from({ length: 9 }, (_each, at) => version(`v${at + 1}<v${at}`));
  table.hub = new Map(chain.map((row) => [row.sourcedId, row]));
  // What was asked for is no row of the scan.
  expect(await table.end(chain.slice(-1))).toMatchObject({ rowsSeen: 1, idsNotAsked: 0 });
  expect(table.asked.flat()).toEqual(['v8', 'v7', 'v6', 'v5', 'v4', 'v3', 'v2', 'v1', 'v0']);
  const replaced = chain.slice(1).map((_each, at) => `v1/${at + 2} REPLACED v${at + 2}`);
  expect(table.story).toEqual(['v1/1 CREATED v1', ...replaced]);
});

test('an open absence waits at most five minutes for a hub that does not answer', async () => {
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

test('an awaited id that the hub lacks is ignored at the end of a sync, unless a full sync is running', async () => {
  const table = new ViewedTable();
  const writer = await table.writer;
  const full = madeSync('FULL');
  writer.begin(full);
  await table.end([V2]);
  expect([table.asked, table.story]).toEqual([[], []]);
  writer.end(full);
  expect(await table.end()).toMatchObject({ absences: { notShown: 1 } });
  expect(table.story).toEqual(['v2/1 CREATED v2']);
  expect(await table.end([version('v2<v1#1')])).toMatchObject({ absences: { notShown: 0 } });
  expect(table.asked).toHaveLength(1);
});

test('a sync asks for at most 2,000 awaited ids, counts the other ids, and goes on without them', async () => {
  const table = new ViewedTable();
  const { idsNotAsked } = await table.end(
    Array.from({ length: 2_500 }, (_each, at) => version(`v${at}<gone${at}`)),
  );
  expect([table.asked.flat().length, idsNotAsked]).toEqual([2_000, 500]);
  expect(table.story).toHaveLength(2_500);
});

test('the records of vanished versions are read in one pass over `absences`, at the end of the sync', async () => {
  const table = new ViewedTable({ v1: V1.value });
  await table.page([V1]);
  await table.page([], ['v1']);
  expect([table.story.length, table.passes]).toEqual([1, []]);
  await table.end();
  expect(table.passes).toEqual(['absences']);
  const version = { student: { sourcedId: 's1' } };
  expect(table.events.at(-1)).toMatchObject({ operation: 'DELETED', version });
});

test('staged absence versions get their events even if their topic is republished before the commit', async () => {
  const table = new ViewedTable();
  await table.page([V1]);
  const writer = await table.writer;
  const { last, derived } = writer.committed;
  if (last === null) throw new Error('nothing was committed');
  // The registry has lost the id 1, so that another record of `progress` is due.
  const whole = derived.filter((each) => each !== null);
  writer.committed.committed({ ...last, schemaIds: [2, 1] }, whole);
  const readVersion = writer.readVersion();
  await writer.accept(madeSync('INCREMENTAL', { readVersion }), {
    rows: [V1_REPLACED, V2].map(keyed),
    readVersion,
  });
  await writer.publishedAgain('absence-versions');
  expect(table.story).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2']);
});

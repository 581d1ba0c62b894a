import { expect, it } from 'vitest';
import { hubTrouble, LessonBench } from './lesson-bench.ts';
import type { WhichStudents } from '../../../src/config/schedules.ts';

const DAYS = ['2026-11-18', '2026-11-19'];

/** Students `s01`… with lessons on two days of the window. */
function bench(count: number, which: WhichStudents = 'all'): LessonBench {
  const made = new LessonBench(which);
  for (let number = 1; number <= count; number += 1)
    made.lessons.set(`s${String(number).padStart(2, '0')}`, new Set(DAYS));
  return made;
}

/** The students whom a sync asks for. */
async function askedBy(made: LessonBench, ...sync: Parameters<LessonBench['sync']>): Promise<string[]> {
  const from = made.requests.length;
  await made.sync(...sync);
  return made.requests.slice(from).map(({ student }) => student);
}
const refused =
  (...students: string[]) =>
  (student: string) =>
    students.includes(student) ? hubTrouble('HUB_FORBIDDEN', 403) : null;

it('a full sync of schedules asks for each student once, those with absences first, for the window and a day at either end', async () => {
  const made = bench(4);
  made.absent.add('s03').add('s09');
  expect(await askedBy(made, 'FULL')).toEqual(['s03', 's01', 's02', 's04']);
  expect(made.requests[0]).toMatchObject({ from: '2026-11-16', to: '2026-11-22' });
  const lastCompleteFull = { rows: 8, rowsRejected: 0, rowsWithheld: 0 };
  expect(made.transactions.at(-1)?.progress).toMatchObject({ complete: true, lastCompleteFull });
});

it('a full sync of schedules commits what is staged within a second, although the next answer takes long', async () => {
  const made = bench(3);
  const startMs = made.time.now();
  made.latencyMs = (student) => (student === 's03' ? 30_000 : 100);
  await made.sync('FULL');
  expect((made.committedAtMs[0] ?? Infinity) - startMs).toBeLessThanOrEqual(1_100);
  expect(made.transactions[0]?.progress).toMatchObject({ complete: false, lastCompleteFull: null });
});

it('a full sync of schedules removes what is outside the window, and students no longer wanted, whatever the guard says', async () => {
  const made = bench(3, 'absent');
  made.guard = { rows: 0, ratio: 0 };
  made.absent.add('s01').add('s02');
  await made.sync('FULL');
  made.absent.delete('s01');
  await made.time.run(() => made.time.sleep(2 * 86_400_000));
  const none = { kind: 'complete', withheld: 0, unconfirmed: 0 };
  expect(await made.sync('FULL')).toMatchObject({ ...none, stats: { rowsRemoved: 3 } });
  expect(made.view()).toEqual({ 's02|2026-11-19': 1 });
});

it('a full sync of schedules publishes no day as empty that never had lessons, and one that had some after two misses by full syncs', async () => {
  const made = bench(6);
  await made.sync('FULL');
  made.lessons.set('s01', new Set(['2026-11-18']));
  made.changes.note(['s01']);
  await made.sync('INCREMENTAL');
  expect(await made.sync('FULL')).toMatchObject({ unconfirmed: 1 });
  expect(made.view()).toMatchObject({ 's01|2026-11-19': 1 });
  expect(await askedBy(made, 'FULL', { confirming: true })).toEqual(['s01']);
  expect(made.view()).toMatchObject({ 's01|2026-11-18': 1, 's01|2026-11-19': 0 });
  expect(Object.keys(made.view())).toHaveLength(12);
  const before = made.transactions.flatMap(({ records }) => records).length;
  expect(await made.sync('FULL')).toMatchObject({ unconfirmed: 0, stats: { rowsSeen: 12 } });
  expect(made.transactions.flatMap(({ records }) => records)).toHaveLength(before);
});

it('a full sync of schedules rejects a student whose lessons are nested too deeply to be written, and publishes the others', async () => {
  const made = bench(3);
  const deep: object = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  made.content = (student) => (student === 's02' ? { title: deep } : {});
  expect(await made.sync('FULL')).toMatchObject({ stats: { rowsCreated: 4, rowsRejected: 1 } });
});

it('a full sync of schedules counts days that became empty earlier that day once for the guard', async () => {
  const made = bench(5);
  made.guard = { rows: 2, ratio: 0.5 };
  await made.sync('FULL');
  made.lessons.set('s01', new Set()).set('s02', new Set());
  await made.sync('FULL');
  await made.sync('FULL', { confirming: true });
  expect(Object.values(made.view()).filter((count) => count === 0)).toHaveLength(4);
  // Of ten days with lessons, six would be empty within a day.
  made.lessons.set('s03', new Set());
  expect(await made.sync('FULL')).toMatchObject({ withheld: 2 });
});

it('a student whom the hub refuses becomes a reject, keeps the published days, and blocks nothing, in a full sync and an incremental one', async () => {
  const made = bench(12);
  await made.sync('FULL');
  made.trouble = refused('s12');
  expect(await made.sync('FULL')).toMatchObject({ kind: 'complete', unconfirmed: 0, withheld: 0 });
  expect(made.view('rejects')).toEqual({
    'schedules|s12%7C*': "the hub does not give the student's lessons: HUB_FORBIDDEN (HTTP 403)",
  });
  expect(Object.keys(made.view())).toHaveLength(24);
  made.trouble = refused('s05');
  made.changes.note(['s05']);
  expect(await made.sync('INCREMENTAL')).toMatchObject({ kind: 'complete' });
  expect(Object.keys(made.view('rejects')).toSorted()).toEqual(['schedules|s05%7C*', 'schedules|s12%7C*']);
  made.trouble = () => null;
  made.changes.note(['s05', 's12']);
  await made.sync('INCREMENTAL');
  expect(made.view('rejects')).toEqual({});
});

it('a student whom the hub refuses is one of nine in a row at most: ten fail the sync, and none is a reject', async () => {
  const nine = Array.from({ length: 9 }, (_, at) => `s0${at + 1}`);
  const made = bench(12);
  made.trouble = refused(...nine);
  expect(await made.sync('FULL')).toMatchObject({ kind: 'complete', stats: { rowsRejected: 9 } });
  for (const [broken, ...students] of [[bench(12), ...nine, 's10'] as const, [bench(1), 's01'] as const]) {
    broken.trouble = refused(...students);
    await expect(broken.sync('FULL')).rejects.toMatchObject({ code: 'HUB_FORBIDDEN' });
    expect(broken.view('rejects')).toEqual({});
  }
});

it('a student whom the hub refuses is asked for again by the next incremental sync, where the trouble may pass', async () => {
  const made = bench(3);
  made.trouble = (student) => (student === 's02' ? hubTrouble('HUB_UNAVAILABLE', 503) : null);
  await made.sync('FULL');
  expect(Object.keys(made.view('rejects'))).toEqual(['schedules|s02%7C*']);
  await expect(made.sync('INCREMENTAL')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  made.trouble = () => null;
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s02']);
  expect(made.view('rejects')).toEqual({});
  expect(made.changes.isEmpty).toBe(true);
});

it('a student whom the hub refuses is not blamed for a token or a circuit that lets nothing through', async () => {
  for (const code of ['HUB_CIRCUIT_OPEN', 'HUB_TOKEN_REFUSED', 'HUB_TOKEN_UNAVAILABLE'] as const) {
    const made = bench(3);
    made.trouble = (student) => (student === 's02' ? hubTrouble(code, 503) : null);
    await expect(made.sync('FULL')).rejects.toMatchObject({ code });
    expect(made.view('rejects')).toEqual({});
  }
});

it('an incremental sync asks for the wanted students whose absences changed, and makes no transaction if nothing did', async () => {
  const made = bench(4, 'absent');
  made.absent.add('s01').add('s02');
  made.changes.note(['s01', 's02', 's03', 's04']);
  await made.sync('FULL');
  const before = made.transactions.length;
  expect(await askedBy(made, 'INCREMENTAL')).toEqual([]);
  made.changes.note(['s01']);
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s01']);
  expect(made.transactions).toHaveLength(before);
  made.absent.add('s04');
  made.changes.note(['s01', 's03', 's04']);
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s01', 's04']);
  const published = { mode: 'INCREMENTAL', complete: true, rowsPublished: 2 };
  expect(made.transactions.at(-1)?.progress).toMatchObject(published);
});

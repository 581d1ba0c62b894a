import type { WhichStudents } from '../../../src/config/schedules.ts';
import { DayReader, type DaySchedule } from '../../../src/core/lessons/read-days.ts';
import type { RollcallError } from '../../../src/errors.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import { lessonSource } from '../../../src/lessons/lesson-source.ts';
import type { Transaction } from '../../../src/log/log.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { MirroredCollection } from '../../../src/sync/sync.ts';
import type { ReplacedSync, SyncOptions, SyncResult } from '../../../src/sync/sync-result.ts';
import { ChangedScopes } from '../../../src/table/tenant.ts';
import { VirtualTime } from '../../simulation/parts/virtual-time.ts';
import { DEFAULT_LESSON_FIELDS } from '../core/support/lesson-fields.ts';
import { madeCollection } from '../pipeline/support/made-collection.ts';
import { expect, it } from 'vitest';

const OSLO = 'Europe/Oslo';
const WINDOW = { daysBack: 1, daysAhead: 3, timeZone: OSLO };
const UNMAPPED = { drop: [], pseudonymise: [], ignore: [] };
const { signal } = new AbortController();

/** A Core API in virtual time, and the syncs of `schedules` that ask it. It is Wednesday noon. */
class LessonBench {
  readonly time = new VirtualTime(Date.parse('2026-11-18T12:00:00Z'));
  readonly changedScopes = new ChangedScopes();
  readonly transactions: Transaction[] = [];
  readonly committedAtMs: number[] = [];
  readonly requests: { readonly student: string; readonly from: string; readonly to: string }[] = [];
  /** The days with a lesson of each student. */
  readonly lessons = new Map<string, Set<string>>();
  readonly absent = new Set<string>();
  guard = { rows: 1_000, ratio: 1 };
  latencyMs: (student: string) => number = () => 100;
  /** More content of each lesson of a student. */
  content: (student: string) => object = () => ({});
  trouble: (student: string) => HubError | null = () => null;
  #parts: MirroredCollection | null = null;
  readonly #which: WhichStudents;

  constructor(which: WhichStudents = 'all') {
    this.#which = which;
  }

  async sync(mode: SyncMode, options: SyncOptions = {}): Promise<SyncResult | ReplacedSync> {
    this.#parts ??= await this.#open();
    const parts = this.#parts;
    return this.time.run(() => runSync(parts, mode, { ...options, signal }));
  }

  /** What a consumer holds: the number of lessons of each key, or for `rejects` the reason. */
  view(topic: 'schedules' | 'rejects' = 'schedules'): Record<string, unknown> {
    const view: Record<string, unknown> = {};
    for (const { topic: of, key, body } of this.transactions.flatMap(({ records }) => records)) {
      if (of !== topic) continue;
      if (body === null) Reflect.deleteProperty(view, key);
      else {
        const value = JSON.parse(body.toString()) as DaySchedule & { reason: string };
        view[key] = topic === 'rejects' ? value.reason : value.lessons.length;
      }
    }
    return view;
  }

  #open(): Promise<MirroredCollection> {
    const { now, sleep } = this.time;
    return madeCollection({
      name: 'schedules',
      tenant: { guard: this.guard, scopesAhead: 2 },
      commit: (transaction) => {
        this.transactions.push(transaction);
        this.committedAtMs.push(now());
        return { committedAtMs: now() };
      },
      runtime: { now, sleep },
      own: { source: this.#source() },
    });
  }

  #source() {
    return lessonSource({
      readSchedule: async ({ student, from, to }) => {
        this.requests.push({ student, from, to });
        await this.time.sleep(this.latencyMs(student), signal);
        const trouble = this.trouble(student);
        if (trouble !== null) throw trouble;
        const days = [...(this.lessons.get(student) ?? [])].filter((day) => day >= from && day <= to);
        const lessons = days.map((day) =>
          Object.assign({ id: day, start: `${day}T08:15:00` }, this.content(student)),
        );
        return { lessons, isUtf8: true, hubTimeMs: this.time.now() };
      },
      reader: new DayReader({ ...UNMAPPED, fields: DEFAULT_LESSON_FIELDS, timeZone: OSLO }),
      ...WINDOW,
      students: this.#which,
      now: this.time.now,
      absentIn: () => Promise.resolve(new Set(this.absent)),
      allStudents: () => Promise.resolve(this.lessons.keys()),
      changedScopes: this.changedScopes,
    });
  }
}

function hubTrouble(code: RollcallError['code'], status: number): HubError {
  return new HubError(code, `HTTP ${status}`, { remedy: 'none: it is a test', status });
}

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

it('a full sync of schedules asks for each student once, those with absences first', async () => {
  const made = bench(4);
  made.absent.add('s03').add('s09');
  expect(await askedBy(made, 'FULL')).toEqual(['s03', 's01', 's02', 's04']);
  expect(made.requests[0]).toMatchObject({ from: '2026-11-16', to: '2026-11-22' });
  const lastCompleteFull = { rows: 8, rowsRejected: 0, rowsOnHold: 0 };
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

it('a full sync of schedules removes what is outside the window whatever the guard says', async () => {
  const made = bench(3, 'absent');
  made.guard = { rows: 0, ratio: 0 };
  made.absent.add('s01').add('s02');
  await made.sync('FULL');
  made.absent.delete('s01');
  await made.time.run(() => made.time.sleep(2 * 86_400_000));
  const none = { kind: 'complete', rowsOnHold: 0, unconfirmed: 0 };
  expect(await made.sync('FULL')).toMatchObject({ ...none, stats: { rowsRemoved: 3 } });
  expect(made.view()).toEqual({ 's02|2026-11-19': 1 });
});

it('only a day whose published lessons were missed by two full syncs is published as empty', async () => {
  const made = bench(6);
  await made.sync('FULL');
  made.lessons.set('s01', new Set(['2026-11-18']));
  made.changedScopes.note(['s01']);
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

it('a full sync of schedules rejects a student whose lessons are nested too deeply, and no other', async () => {
  const made = bench(3);
  const deep: object = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  made.content = (student) => (student === 's02' ? { title: deep } : {});
  expect(await made.sync('FULL')).toMatchObject({ stats: { rowsCreated: 4, rowsRejected: 1 } });
});

it('the guard counts a day of lessons that became empty once, also in a later full sync of the same date', async () => {
  const made = bench(5);
  made.guard = { rows: 2, ratio: 0.5 };
  await made.sync('FULL');
  made.lessons.set('s01', new Set()).set('s02', new Set());
  await made.sync('FULL');
  await made.sync('FULL', { confirming: true });
  expect(Object.values(made.view()).filter((count) => count === 0)).toHaveLength(4);
  // Of ten days with lessons, six would be empty within a day.
  made.lessons.set('s03', new Set());
  expect(await made.sync('FULL')).toMatchObject({ rowsOnHold: 2 });
});

it('ten students in a row whom the hub refuses fail the sync, and none becomes a reject', async () => {
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

const unavailable =
  (...students: string[]) =>
  (student: string) =>
    students.includes(student) ? hubTrouble('HUB_UNAVAILABLE', 503) : null;

it('a student without an answer stays a reject, and is asked for again after pauses that double', async () => {
  const made = bench(3);
  made.trouble = unavailable('s03');
  await made.sync('FULL');
  const endedAtMs = made.time.now();
  const askedAfterSeconds: number[] = [];
  for (let seconds = 0; seconds < 200; seconds += 5) {
    await made.time.run(() => made.time.sleep(endedAtMs + seconds * 1_000 - made.time.now()));
    const asked = await askedBy(made, 'INCREMENTAL');
    if (asked.length === 0) continue;
    expect(asked).toEqual(['s01', 's03']);
    askedAfterSeconds.push(seconds);
  }
  expect(askedAfterSeconds).toEqual([0, 5, 15, 35, 75, 155]);
  expect(Object.keys(made.view('rejects'))).toEqual(['schedules|s03%7C*']);
  made.trouble = () => null;
  made.changedScopes.note(['s03']);
  await made.sync('INCREMENTAL');
  expect(made.view('rejects')).toEqual({});
  expect(made.changedScopes.isDue(Infinity)).toBe(false);
});

it('students whose absences changed are asked for at once, before students without an answer', async () => {
  const made = bench(3);
  made.trouble = unavailable('s01');
  await made.sync('FULL');
  made.changedScopes.note(['s03']);
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s03', 's01']);
  await made.sync('INCREMENTAL');
  made.changedScopes.note(['s02']);
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s02']);
});

it('a student without an answer fails an incremental sync only if another student has none either', async () => {
  const made = bench(3);
  await made.sync('FULL');
  made.trouble = unavailable('s01');
  made.changedScopes.note(['s01']);
  expect(await made.sync('INCREMENTAL')).toMatchObject({ kind: 'complete' });
  made.trouble = unavailable('s01', 's02', 's03');
  made.changedScopes.note(['s01']);
  await expect(made.sync('INCREMENTAL')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  made.trouble = () => null;
  expect(await askedBy(made, 'INCREMENTAL')).toContain('s01');
  expect(made.view('rejects')).toEqual({});
});

it('no student becomes a reject because of a token or a circuit that lets nothing through', async () => {
  for (const code of ['HUB_CIRCUIT_OPEN', 'HUB_TOKEN_REFUSED', 'HUB_TOKEN_UNAVAILABLE'] as const) {
    const made = bench(3);
    made.trouble = (student) => (student === 's02' ? hubTrouble(code, 503) : null);
    await expect(made.sync('FULL')).rejects.toMatchObject({ code });
    expect(made.view('rejects')).toEqual({});
  }
});

it('an incremental sync asks for the wanted students whose absences changed, and for no others', async () => {
  const made = bench(4, 'absent');
  made.absent.add('s01').add('s02');
  made.changedScopes.note(['s01', 's02', 's03', 's04']);
  await made.sync('FULL');
  const before = made.transactions.length;
  expect(await askedBy(made, 'INCREMENTAL')).toEqual([]);
  made.changedScopes.note(['s01']);
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s01']);
  expect(made.transactions).toHaveLength(before);
  made.absent.add('s04');
  made.changedScopes.note(['s01', 's03', 's04']);
  expect(await askedBy(made, 'INCREMENTAL')).toEqual(['s01', 's04']);
  const published = { mode: 'INCREMENTAL', complete: true, rowsPublished: 2 };
  expect(made.transactions.at(-1)?.progress).toMatchObject(published);
});

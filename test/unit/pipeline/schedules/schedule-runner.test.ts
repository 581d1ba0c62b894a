import { describe, expect, it } from 'vitest';
import type { SyncResult } from '../../../../src/sync/sync-result.ts';
import type { ScheduleRunner } from '../../../../src/session/schedules/schedule-runner.ts';
import { hubTrouble, lessonOn, ScheduleBench, type BenchOptions } from './schedule-bench.ts';
import { VirtualTime } from '../../../simulation/parts/virtual-time.ts';

/** It is Wednesday noon; a sync is due at 03:00 UTC. The window is the 17th to the 21st. */
const NOON = Date.parse('2026-11-18T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'];

const never = new AbortController().signal;

const TOO_LARGE = 'x'.repeat(460_000);

/** Makes students `s01`… with lessons on all days of the week. */
function bench(count: number, options: BenchOptions = {}): ScheduleBench {
  const made = new ScheduleBench(new VirtualTime(NOON), options);
  for (let number = 1; number <= count; number += 1) {
    const student = `s${String(number).padStart(2, '0')}`;
    made.students.push(student);
    made.lessons.set(student, new Set(WEEK));
  }
  return made;
}

/** Runs the loop beside the work, and stops it afterwards. */
async function living<T>(made: ScheduleBench, work: (runner: ScheduleRunner) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  return made.time.run(async () => {
    const runner = await made.start(stop.signal);
    const loop = runner.loop(stop.signal);
    try {
      return await work(runner);
    } finally {
      stop.abort(new Error('over'));
      await loop.catch(() => undefined);
    }
  });
}

async function pull(made: ScheduleBench, mode: 'FULL' | 'DELTA' = 'FULL'): Promise<SyncResult> {
  return made.time.run(async () => (await made.start()).once(mode, { signal: never }));
}

const asked = (made: ScheduleBench, from = 0): string[] =>
  made.requests.slice(from).map(({ student }) => student);
const ends = (made: ScheduleBench) => made.events.filter((event) => event.type === 'pass-ended');

describe('the first load', () => {
  it("uses exactly its share of the hub's requests", async () => {
    const made = bench(20, { concurrency: 2, latencyMs: 100 });
    const result = await pull(made);
    expect(result).toMatchObject({
      kind: 'complete',
      stats: { mode: 'FULL', rowsSeen: 80, rowsCreated: 80 },
    });
    expect(made.time.now() - NOON).toBeLessThan(1_500);
    expect(made.mostUnderWay).toBe(2);
    expect(asked(made).toSorted()).toEqual(made.students);
    expect(made.view().size).toBe(80);
  });

  it('asks for the days of the window and one more at either end', async () => {
    const made = bench(1);
    await pull(made);
    expect(made.requests[0]).toMatchObject({ from: '2026-11-16', to: '2026-11-22' });
  });

  it('counts as complete only after every student was answered', async () => {
    const made = bench(20, { latencyMs: 1_000 });
    await pull(made);
    const complete = made.transactions.map(({ progress }) => progress.lastCompleteFull !== null);
    expect(complete.slice(0, -1).some(Boolean)).toBe(false);
    expect(complete.at(-1)).toBe(true);
    expect(made.transactions.length).toBeGreaterThan(5);
    const { progress } = made.transactions.at(-1)!;
    expect(progress).toMatchObject({ mode: 'FULL', complete: true, rowsSeen: 80 });
    expect(progress.lastCompleteFull).toMatchObject({ rows: 80, rowsRejected: 0, rowsWithheld: 0 });
  });

  it('begins only once it is known whose schedules are wanted', async () => {
    const made = bench(3);
    made.parents = 'waiting';
    expect(await pull(made)).toMatchObject({ kind: 'inconclusive' });
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      expect(made.requests).toEqual([]);
      made.parents = 'ready';
      await made.time.sleep(MINUTE);
      expect(asked(made)).toHaveLength(3);
    });
  });

  it("has the hub's time in its progress, not ours", async () => {
    const made = bench(3);
    made.hubSkewMs = 7 * MINUTE;
    await pull(made);
    for (const { progress } of made.transactions) {
      expect(Math.abs(progress.startedAtMs - (NOON + 7 * MINUTE))).toBeLessThan(1_000);
    }
    expect(made.transactions.at(-1)?.progress.watermarkMs).toBe(
      made.transactions.at(-1)?.progress.startedAtMs,
    );
  });
});

describe('a second pull', () => {
  it('of unchanged lessons publishes nothing', async () => {
    const made = bench(5);
    await pull(made);
    const before = made.published().length;
    expect(await pull(made)).toMatchObject({ stats: { rowsUnchanged: 20, rowsUpdated: 0 } });
    expect(made.published()).toHaveLength(before);
  });

  it('by a process that does not stay asks for the students whose absences its own pull has changed', async () => {
    const made = bench(5, { students: 'absent' });
    made.absent.add('s01');
    await made.time.run(async () => {
      const runner = await made.start();
      await runner.once('FULL', { signal: never });
      made.absent.add('s04');
      made.change('s01', 's04', 's05');
      const from = made.requests.length;
      await runner.once('DELTA', { signal: never });
      expect(asked(made, from).toSorted()).toEqual(['s01', 's04']);
      expect(made.view().size).toBe(8);
    });
  });

  it('by a process that does not stay asks for a student who becomes absent meanwhile, and ends', async () => {
    const made = bench(5, { students: 'absent', latencyMs: 2_000, concurrency: 1 });
    for (const student of ['s01', 's02', 's03']) made.absent.add(student);
    await made.time.run(async () => {
      const runner = await made.start();
      const pulled = runner.once('FULL', { signal: never });
      await made.time.sleep(500);
      made.absent.add('s05');
      made.change('s04', 's05');
      expect(await pulled).toMatchObject({ kind: 'complete' });
      expect(asked(made).toSorted()).toEqual(['s01', 's02', 's03', 's05']);
    });
  });

  it('of changed students asks for none when none has changed', async () => {
    const made = bench(5);
    await pull(made);
    const before = made.requests.length;
    expect(await pull(made, 'DELTA')).toMatchObject({ kind: 'complete', stats: { rowsSeen: 0 } });
    expect(made.requests).toHaveLength(before);
  });
});

describe('a daily sync', () => {
  it('asks for each student once, spread over the hours', async () => {
    const made = bench(23);
    await living(made, async () => {
      await made.time.sleep(DAY - (NOON % DAY) + 3 * HOUR);
      const from = made.requests.length;
      const startMs = made.time.now();
      await made.time.sleep(DAY - MINUTE);
      expect(asked(made, from).toSorted()).toEqual(made.students);
      const hours = made.requests.slice(from).map(({ atMs }) => Math.floor((atMs - startMs) / HOUR));
      expect(hours).toEqual(Array.from({ length: 23 }, (_, hour) => hour));
    });
    const full = ends(made).filter(({ stats }) => stats.mode === 'FULL');
    expect(full).toHaveLength(2);
    // For the last three, after midnight, one day of lessons has left the window.
    expect(full.at(-1)).toMatchObject({ outcome: 'complete', stats: { rowsSeen: 66, rowsUnchanged: 66 } });
  });

  it('is published as finished incremental syncs while its full sync is under way', async () => {
    const made = bench(24);
    await living(made, async () => {
      await made.time.sleep(DAY - (NOON % DAY) + 3 * HOUR + 12 * HOUR);
      expect(made.transactions.at(-1)?.progress).toMatchObject({ mode: 'DELTA', complete: true });
    });
  });

  it('asks for the students in the same order as the day before', async () => {
    const made = bench(24);
    await living(made, async () => {
      await made.time.sleep(DAY - (NOON % DAY) + 3 * HOUR);
      const first = made.requests.length;
      await made.time.sleep(DAY);
      const second = made.requests.length;
      await made.time.sleep(DAY - MINUTE);
      expect(asked(made, second)).toEqual(asked(made, first).slice(0, 24));
    });
  });

  it('asks for students with an absence first', async () => {
    const made = bench(24);
    for (const student of ['s20', 's10']) made.absent.add(student);
    await pull(made);
    expect(asked(made).slice(0, 2).toSorted()).toEqual(['s10', 's20']);
  });

  it('continues after a restart with the students who were not asked for yet', async () => {
    const made = bench(24);
    await living(made, () => made.time.sleep(DAY));
    const before = made.requests.length;
    await living(made, async () => {
      await made.time.sleep(HOUR);
      expect(made.requests.length - before).toBeLessThan(4);
      await made.time.sleep(14 * HOUR - MINUTE);
      expect(new Set(asked(made, before)).size).toBe(24);
    });
  });

  it('after days without a sync, a round starts at once and asks for every student', async () => {
    const made = bench(24);
    await living(made, () => made.time.sleep(HOUR));
    await made.time.run(() => made.time.sleep(3 * DAY));
    const before = made.requests.length;
    await living(made, () => made.time.sleep(MINUTE));
    expect(new Set(asked(made, before)).size).toBe(24);
  });
});

describe('a changed absence', () => {
  it('asks for the student at once, and not a second time in that sync', async () => {
    const made = bench(24);
    await living(made, async () => {
      await made.time.sleep(DAY + HOUR / 2);
      const from = made.requests.length;
      const atMs = made.time.now();
      made.lessons.get('s17')?.add('2026-11-21');
      made.change('s17');
      await made.time.sleep(MINUTE);
      expect(made.requests.slice(from)).toMatchObject([{ student: 's17', atMs }]);
      expect(made.view().get('s17|2026-11-21')).toBe(1);
      await made.time.sleep(14 * HOUR);
      expect(asked(made, from).filter((student) => student === 's17')).toHaveLength(1);
      await made.time.sleep(DAY);
      expect(asked(made, from).filter((student) => student === 's17')).toHaveLength(2);
    });
  });

  it('is asked for before the others during a first load', async () => {
    const made = bench(50, { latencyMs: 1_000, concurrency: 1 });
    await living(made, async () => {
      await made.time.sleep(3_500);
      made.change('s40');
      await made.time.sleep(2_000);
      expect(asked(made)[4]).toBe('s40');
      await made.time.sleep(HOUR);
      expect(asked(made)).toHaveLength(50);
    });
  });

  it('of a student who is not wanted is not asked for', async () => {
    const made = bench(3, { students: ['s01'] });
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.change('s02', 's01');
      await made.time.sleep(MINUTE);
      expect(asked(made)).toEqual(['s01', 's01']);
    });
  });

  it('makes a student wanted who has become absent, and no other one', async () => {
    const made = bench(3, { students: 'absent' });
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      expect(made.requests).toEqual([]);
      made.absent.add('s02');
      made.change('s02', 's03');
      await made.time.sleep(1_500);
      expect(asked(made)).toEqual(['s02']);
      await made.time.sleep(MINUTE);
      expect(asked(made)).toEqual(['s02']);
      expect(made.view().size).toBe(4);
    });
  });

  it('that is published during a restart is asked for after it', async () => {
    const made = bench(3, { students: 'absent' });
    made.absent.add('s01');
    await living(made, () => made.time.sleep(MINUTE));
    const before = made.requests.length;
    await living(made, async () => {
      made.absent.add('s03');
      made.change('s03');
      await made.time.sleep(MINUTE);
      expect(asked(made, before)).toEqual(['s03']);
    });
  });
});

describe('a window that moves on', () => {
  it('removes the days that left it without a request, and fills those that enter it', async () => {
    const made = bench(2);
    for (const student of made.students)
      for (const day of ['22', '23']) made.lessons.get(student)?.add(`2026-11-${day}`);
    await living(made, async () => {
      await made.time.sleep(HOUR);
      expect([...made.view().keys()].map((key) => key.slice(4))).not.toContain('2026-11-22');
      const from = made.requests.length;
      // At 04:00 in Oslo the first sync after midnight begins.
      await made.time.sleep(DAY - (NOON % DAY) + 2 * HOUR + MINUTE);
      const removed = made.published().filter((line) => line.startsWith('-'));
      expect(removed.toSorted()).toEqual(['-s01|2026-11-17', '-s02|2026-11-17']);
      expect(made.requests.length - from).toBeLessThan(2);
      await made.time.sleep(DAY - 2 * MINUTE);
      expect(made.view().get('s01|2026-11-22')).toBe(1);
      expect(made.view().get('s01|2026-11-18')).toBe(1);
    });
    expect(made.events.filter(({ type }) => type === 'deletion')).toEqual([]);
  });

  it('removes the days of a student who is no longer wanted, without the guard', async () => {
    const made = bench(10);
    await pull(made);
    made.students.splice(0, 8);
    const before = made.requests.length;
    expect(await pull(made)).toMatchObject({ stats: { rowsRemoved: 32 }, withheld: 0 });
    expect([...made.view().keys()]).toHaveLength(8);
    expect(new Set(asked(made, before))).toEqual(new Set(['s09', 's10']));
  });

  it('ignores an answer that arrives after its student was given up', async () => {
    const made = bench(2, { latencyMs: 10_000 });
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      made.change('s02');
      await made.time.sleep(1_000);
      made.students.splice(1, 1);
      const done = runner.request('FULL');
      await made.time.sleep(MINUTE);
      await done;
      expect([...made.view().keys()].filter((key) => key.startsWith('s02'))).toEqual([]);
    });
  });

  it('removes the rejects of days that are over', async () => {
    const made = bench(1);
    made.answer = (_, days) =>
      days.map((day) => (day === '2026-11-17' ? { ...lessonOn(day), note: TOO_LARGE } : lessonOn(day)));
    await pull(made);
    expect([...made.view('rejects').keys()]).toEqual(['schedules|s01%7C2026-11-17']);
    await made.time.run(() => made.time.sleep(DAY));
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
  });
});

describe('lessons that cannot be decoded', () => {
  it('leave their day as it was, and the other days change', async () => {
    const made = bench(1);
    await pull(made);
    made.answer = (_, days) =>
      days.map((day) => (day === '2026-11-19' ? { ...lessonOn(day), note: TOO_LARGE } : lessonOn(day)));
    made.lessons.get('s01')?.add('2026-11-21');
    await pull(made);
    expect(made.view().get('s01|2026-11-19')).toBe(1);
    expect(made.view().get('s01|2026-11-21')).toBe(1);
    expect(made.view('rejects').size).toBe(1);
    made.answer = (_, days) => days.map(lessonOn);
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
  });

  it('without a day leave all days of the student as they were, until the lessons can be decoded again', async () => {
    const made = bench(2);
    await pull(made);
    made.lessons.set('s01', new Set(['2026-11-21']));
    made.answer = (student, days) =>
      student === 's01' ? [...days.map(lessonOn), { id: 'x' }] : days.map(lessonOn);
    const before = made.published().length;
    await pull(made);
    expect(made.published()).toHaveLength(before);
    expect([...made.view('rejects').keys()]).toEqual(['schedules|s01%7C*']);
    made.answer = (_, days) => days.map(lessonOn);
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
    expect(made.view().get('s01|2026-11-21')).toBe(1);
  });
});

describe('a Core API in trouble', () => {
  it('fails a pull within a minute and publishes nothing', async () => {
    const made = bench(20);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
    const before = made.published().length;
    const startMs = made.time.now();
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    expect(made.time.now() - startMs).toBeLessThan(MINUTE);
    expect(made.published()).toHaveLength(before);
    expect(made.transactions.at(-1)?.progress.complete).toBe(true);
  });

  it('is asked with pauses, and the load completes once it answers again', async () => {
    const made = bench(20);
    made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
    await living(made, async () => {
      await made.time.sleep(HOUR);
      expect(made.requests.length).toBeLessThan(60);
      expect(made.requests.length).toBeGreaterThan(10);
      made.trouble = () => null;
      await made.time.sleep(10 * MINUTE);
      expect(made.view().size).toBe(80);
      expect(made.transactions.at(-1)?.progress.lastCompleteFull).toMatchObject({ rows: 80 });
    });
  });

  it('that hangs gets no more requests than its share', async () => {
    const made = bench(20, { concurrency: 2 });
    made.trouble = () => HOUR;
    await living(made, async () => {
      await made.time.sleep(30 * MINUTE);
      expect(made.requests).toHaveLength(2);
    });
  });

  it('in the middle of a load keeps what came before', async () => {
    const made = bench(20);
    made.trouble = (student) => (student > 's10' ? hubTrouble('HUB_UNAVAILABLE', 500) : null);
    await living(made, async () => {
      await made.time.sleep(2_000);
      expect(made.view().size).toBe(40);
      made.trouble = () => null;
      await made.time.sleep(10 * MINUTE);
      expect(made.view().size).toBe(80);
      expect(asked(made).filter((student) => student === 's05')).toHaveLength(1);
    });
  });

  it('fails a requested pull within a minute, and the next one succeeds once it answers again', async () => {
    const made = bench(20);
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
      const startMs = made.time.now();
      await expect(runner.request('FULL')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
      expect(made.time.now() - startMs).toBeLessThan(MINUTE);
      made.trouble = () => null;
      await made.time.sleep(MINUTE);
      await expect(runner.request('FULL')).resolves.toMatchObject({ kind: 'complete' });
    });
  });
});

describe('a student for whom the hub has no answer', () => {
  it('does not keep the others from being asked', async () => {
    const made = bench(20);
    made.trouble = (student) => (student < 's05' ? hubTrouble('HUB_FORBIDDEN', 403) : null);
    await living(made, async () => {
      await made.time.sleep(5 * MINUTE);
      expect(made.view().size).toBe(64);
      expect(made.view('rejects').size).toBe(4);
      expect(made.transactions.at(-1)?.progress.lastCompleteFull).toMatchObject({
        rows: 64,
        rowsRejected: 4,
      });
      expect(made.requests.length).toBeLessThan(70);
    });
  });

  it('is not given up during an outage', async () => {
    const made = bench(20);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
    await living(made, async (runner) => {
      void runner.request('FULL').catch(() => undefined);
      await made.time.sleep(HOUR);
      let failures = 4;
      made.trouble = () => (failures-- > 0 ? hubTrouble('HUB_UNAVAILABLE', 503) : null);
      await made.time.sleep(HOUR);
      expect(made.view('rejects').size).toBe(0);
      expect(made.transactions.at(-1)?.progress).toMatchObject({ complete: true, mode: 'FULL' });
    });
  });

  it.each([
    ['HUB_NOT_OFFERED', 404],
    ['HUB_REQUEST_REFUSED', 400],
    ['HUB_UNAVAILABLE', 500],
  ] as const)('is rejected, keeps its known days, and delays no other: %s', async (code, status) => {
    const made = bench(20);
    await pull(made);
    made.trouble = (student) => (student === 's07' || student === 's08' ? hubTrouble(code, status) : null);
    const result = await pull(made);
    expect(result).toMatchObject({ kind: 'complete', stats: { rowsRejected: 2 } });
    expect(made.view().size).toBe(80);
    expect(made.view('rejects')).toEqual(
      new Map(
        ['s07', 's08'].map((student) => [
          `schedules|${student}%7C*`,
          `the hub does not give the student's lessons: ${code} (HTTP ${status})`,
        ]),
      ),
    );
    expect(made.transactions.at(-1)?.progress.lastCompleteFull).toMatchObject({ rowsRejected: 2 });
    made.trouble = () => null;
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
  });

  it('whose lessons have no configured start is rejected with the names of their fields', async () => {
    const made = bench(20);
    await pull(made);
    made.answer = (student, days) =>
      student === 's07' ? days.map((day) => ({ begynner: day, elev: 'Kari' })) : days.map(lessonOn);
    expect(await pull(made)).toMatchObject({ kind: 'complete', stats: { rowsRejected: 1 } });
    expect([...made.view('rejects').values()]).toEqual([
      'Cannot read the lessons of a student: no lesson has the field `start`. Its fields: begynner, elev',
    ]);
    expect(made.view().size).toBe(80);
  });

  it.each([
    ['HUB_NOT_OFFERED', 404],
    ['HUB_FORBIDDEN', 403],
  ] as const)(
    'is rejected along with others like it, and the API is not taken for absent: %s',
    async (code, status) => {
      const made = bench(30, { concurrency: 8 });
      await living(made, async (runner) => {
        await made.time.sleep(MINUTE);
        made.trouble = (student) => (student < 's13' ? hubTrouble(code, status) : null);
        const result = await runner.request('FULL');
        expect(result).toMatchObject({ kind: 'complete', stats: { rowsRejected: 12 } });
      });
      expect(made.view().size).toBe(120);
    },
  );

  it('is not rejected while no other has an answer either', async () => {
    const made = bench(1);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 500);
    await living(made, async () => {
      await made.time.sleep(3 * DAY);
      expect(made.view('rejects').size).toBe(0);
    });
  });
});

describe('a Core API that is not offered', () => {
  it('is asked rarely, reported once, and asked again until it is there', async () => {
    const made = bench(20);
    made.trouble = () => hubTrouble('HUB_NOT_OFFERED', 404);
    await living(made, async (runner) => {
      await made.time.sleep(3 * HOUR);
      expect(made.requests.length).toBeLessThan(14);
      expect(runner.isNotOffered).toBe(true);
      await made.time.sleep(2 * DAY);
      expect(made.requests.length).toBeLessThan(42);
      expect(made.requests.length).toBeGreaterThan(20);
      const said = made.events.filter((event) => event.type === 'not-offered');
      expect(said.filter(({ isNews }) => isNews)).toHaveLength(1);
      made.trouble = () => null;
      await made.time.sleep(DAY);
      expect(runner.isNotOffered).toBe(false);
      expect(made.view().size).toBeGreaterThan(0);
    });
  });

  it('is not offered either where the hub does not offer the collection that names the students, and is asked once it does', async () => {
    const made = bench(3, { students: 'absent' });
    made.absent.add('s01');
    made.parents = 'not-offered';
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
    expect(await made.store.tenant('north').deletions.notOffered()).toEqual(new Set(['schedules']));
    await living(made, async (runner) => {
      expect(runner.isNotOffered).toBe(true);
      await expect(runner.request('FULL')).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
      await made.time.sleep(2 * DAY);
      expect(made.requests).toEqual([]);
      expect(made.events.filter(({ type }) => type === 'pass-failed')).toEqual([]);
      made.parents = 'ready';
      await made.time.sleep(MINUTE);
      expect(asked(made)).toEqual(['s01']);
      expect(runner.isNotOffered).toBe(false);
    });
    expect(await made.store.tenant('north').deletions.notOffered()).toEqual(new Set());
  });

  it('is reported once when the collection that names the students is not offered', async () => {
    const made = bench(3);
    made.parents = 'not-offered';
    await living(made, () => made.time.sleep(2 * DAY));
    expect(made.events).toMatchObject([{ type: 'not-offered', collection: 'schedules', isNews: true }]);
  });

  it('that is missing when the first student is wanted is not offered, and no failure', async () => {
    const made = bench(3, { students: 'absent' });
    expect(await pull(made)).toMatchObject({ kind: 'complete' });
    made.absent.add('s01');
    made.trouble = () => hubTrouble('HUB_NOT_OFFERED', 404);
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
    await living(made, async (runner) => {
      made.change('s01');
      await made.time.sleep(HOUR);
      expect(runner.isNotOffered).toBe(true);
      expect(made.events.filter(({ type }) => type === 'pass-failed')).toEqual([]);
      made.trouble = () => null;
      await made.time.sleep(10 * MINUTE);
      expect(runner.isNotOffered).toBe(false);
      expect(made.view().size).toBe(4);
    });
  });

  it('fails a pull with the error that says so', async () => {
    const made = bench(20);
    made.trouble = () => hubTrouble('HUB_NOT_OFFERED', 404);
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
  });

  it('keeps the known lessons', async () => {
    const made = bench(20);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_NOT_OFFERED', 404);
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
    expect(made.view().size).toBe(80);
  });
});

describe('a request', () => {
  it('is rejected when the log fails while the runner handles it', async () => {
    const made = bench(3);
    await pull(made);
    const failure = new Error('the log failed');
    await made.time.run(async () => {
      const runner = await made.start();
      const { writer } = made;
      if (writer === null) throw new Error('no writer');
      writer.flush = () => Promise.reject(failure);
      const loop = runner.loop(never).catch((error: unknown) => error);
      await expect(runner.request('DELTA')).rejects.toBe(failure);
      expect(await loop).toBe(failure);
    });
  });
});

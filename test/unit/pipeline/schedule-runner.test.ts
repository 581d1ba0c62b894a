import { describe, expect, it } from 'vitest';
import type { PassResult } from '../../../src/pipeline/pass.ts';
import type { ScheduleRunner } from '../../../src/pipeline/schedule-runner.ts';
import { hubTrouble, lessonOn, ScheduleBench, type BenchOptions } from './support/schedule-bench.ts';
import { VirtualTime } from '../../simulation/parts/virtual-time.ts';

/** Wednesday noon; a round is due at 03:00 UTC. The window is the 17th to the 21st. */
const NOON = Date.parse('2026-11-18T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'];

const never = new AbortController().signal;

/** Students `s01`… with lessons on all days of the week. */
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

async function pull(made: ScheduleBench, mode: 'FULL' | 'DELTA' = 'FULL'): Promise<PassResult> {
  return made.time.run(async () => (await made.start()).once(mode, { signal: never }));
}

const asked = (made: ScheduleBench, from = 0): string[] =>
  made.requests.slice(from).map(({ student }) => student);
const ends = (made: ScheduleBench) => made.events.filter((event) => event.type === 'pass-ended');

describe('the first load', () => {
  it('is slower than its share of the hub allows, or more than that', async () => {
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

  it('asks for other days than the window and one more at either end', async () => {
    const made = bench(1);
    await pull(made);
    expect(made.requests[0]).toMatchObject({ from: '2026-11-16', to: '2026-11-22' });
  });

  it('counts as whole before everybody was answered', async () => {
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

  it('begins before it is known whose schedules are wanted', async () => {
    const made = bench(3);
    made.parents = 'waiting';
    expect(await pull(made)).toMatchObject({ kind: 'suspect' });
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      expect(made.requests).toEqual([]);
      made.parents = 'ready';
      await made.time.sleep(MINUTE);
      expect(asked(made)).toHaveLength(3);
    });
  });

  it('a time of ours stands in progress where the hub’s belongs', async () => {
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
  it('of unchanged lessons publishes something', async () => {
    const made = bench(5);
    await pull(made);
    const before = made.told().length;
    expect(await pull(made)).toMatchObject({ stats: { rowsUnchanged: 20, rowsUpdated: 0 } });
    expect(made.told()).toHaveLength(before);
  });

  it('of a process that does not stay forgets whose absences its own pull has changed', async () => {
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

  it('of students who changed asks for all of them', async () => {
    const made = bench(5);
    await pull(made);
    const before = made.requests.length;
    expect(await pull(made, 'DELTA')).toMatchObject({ kind: 'complete', stats: { rowsSeen: 0 } });
    expect(made.requests).toHaveLength(before);
  });
});

describe('a day', () => {
  it('asks for everybody at once, for somebody twice, or for somebody never', async () => {
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
    // After midnight, for the last three, one day of lessons has left the window.
    expect(full.at(-1)).toMatchObject({ outcome: 'complete', stats: { rowsSeen: 66, rowsUnchanged: 66 } });
  });

  it('is told as a full pass that is under way for a day', async () => {
    const made = bench(24);
    await living(made, async () => {
      await made.time.sleep(DAY - (NOON % DAY) + 3 * HOUR + 12 * HOUR);
      expect(made.transactions.at(-1)?.progress).toMatchObject({ mode: 'DELTA', complete: true });
    });
  });

  it('everybody’s turn moves from day to day', async () => {
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

  it('those with an absence wait for their place among all', async () => {
    const made = bench(24);
    for (const student of ['s20', 's10']) made.absent.add(student);
    await pull(made);
    expect(asked(made).slice(0, 2).toSorted()).toEqual(['s10', 's20']);
  });

  it('a restart begins a full load, or leaves out who was not asked yet', async () => {
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

  it('after days of standing still goes on as if nothing were missing', async () => {
    const made = bench(24);
    await living(made, () => made.time.sleep(HOUR));
    await made.time.run(() => made.time.sleep(3 * DAY));
    const before = made.requests.length;
    await living(made, () => made.time.sleep(MINUTE));
    expect(new Set(asked(made, before)).size).toBe(24);
  });
});

describe('a changed absence', () => {
  it('waits for the student’s turn, or brings it twice', async () => {
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

  it('comes after the others in a first load', async () => {
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

  it('of a student whom nobody wants is asked for', async () => {
    const made = bench(3, { students: ['s01'] });
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.change('s02', 's01');
      await made.time.sleep(MINUTE);
      expect(asked(made)).toEqual(['s01', 's01']);
    });
  });

  it('makes nobody wanted who was not absent before, or everybody whose old absence is corrected', async () => {
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

  it('that is told during a restart is lost', async () => {
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
  it('keeps days that left it, asks for them, or misses those that come in', async () => {
    const made = bench(2);
    for (const student of made.students)
      for (const day of ['22', '23']) made.lessons.get(student)?.add(`2026-11-${day}`);
    await living(made, async () => {
      await made.time.sleep(HOUR);
      expect([...made.view().keys()].map((key) => key.slice(4))).not.toContain('2026-11-22');
      const from = made.requests.length;
      // 04:00 in Oslo: the first round after midnight.
      await made.time.sleep(DAY - (NOON % DAY) + 2 * HOUR + MINUTE);
      const removed = made.told().filter((line) => line.startsWith('-'));
      expect(removed.toSorted()).toEqual(['-s01|2026-11-17', '-s02|2026-11-17']);
      expect(made.requests.length - from).toBeLessThan(2);
      await made.time.sleep(DAY - 2 * MINUTE);
      expect(made.view().get('s01|2026-11-22')).toBe(1);
      expect(made.view().get('s01|2026-11-18')).toBe(1);
    });
    expect(made.events.filter(({ type }) => type === 'deletion')).toEqual([]);
  });

  it('a student not wanted any more keeps days, or is guarded', async () => {
    const made = bench(10);
    await pull(made);
    made.students.splice(0, 8);
    const before = made.requests.length;
    expect(await pull(made)).toMatchObject({ stats: { rowsRemoved: 32 }, withheld: 0 });
    expect([...made.view().keys()]).toHaveLength(8);
    expect(new Set(asked(made, before))).toEqual(new Set(['s09', 's10']));
  });

  it('an answer that comes after its student was given up brings the days back', async () => {
    const made = bench(2, { latencyMs: 10_000 });
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      made.change('s02');
      await made.time.sleep(1_000);
      made.students.splice(1, 1);
      const done = runner.demand('FULL');
      await made.time.sleep(MINUTE);
      await done;
      expect([...made.view().keys()].filter((key) => key.startsWith('s02'))).toEqual([]);
    });
  });

  it('rejects of days that are over stay', async () => {
    const made = bench(1);
    made.answer = (_, days) =>
      days.map((day) => (day === '2026-11-17' ? { ...lessonOn(day), end: 'x' } : lessonOn(day)));
    await pull(made);
    expect([...made.view('rejects').keys()]).toEqual(['schedules|s01%7C2026-11-17']);
    await made.time.run(() => made.time.sleep(DAY));
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
  });
});

describe('lessons that are not understood', () => {
  it('empty a day, or hide that the others are fine', async () => {
    const made = bench(1);
    await pull(made);
    made.answer = (_, days) =>
      days.map((day) => (day === '2026-11-19' ? { ...lessonOn(day), end: 'x' } : lessonOn(day)));
    made.lessons.get('s01')?.add('2026-11-21');
    await pull(made);
    expect(made.view().get('s01|2026-11-19')).toBe(1);
    expect(made.view().get('s01|2026-11-21')).toBe(1);
    expect(made.view('rejects').size).toBe(1);
    made.answer = (_, days) => days.map(lessonOn);
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
  });

  it('without a day leave anything changed, or the reject standing', async () => {
    const made = bench(2);
    await pull(made);
    made.lessons.set('s01', new Set(['2026-11-21']));
    made.answer = (student, days) =>
      student === 's01' ? [...days.map(lessonOn), { id: 'x' }] : days.map(lessonOn);
    const before = made.told().length;
    await pull(made);
    expect(made.told()).toHaveLength(before);
    expect([...made.view('rejects').keys()]).toEqual(['schedules|s01%7C*']);
    made.answer = (_, days) => days.map(lessonOn);
    await pull(made);
    expect(made.view('rejects').size).toBe(0);
    expect(made.view().get('s01|2026-11-21')).toBe(1);
  });
});

describe('a sick Core API', () => {
  it('ends a pull that could have gone on, or one that waits for ever', async () => {
    const made = bench(20);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
    const before = made.told().length;
    const startMs = made.time.now();
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    expect(made.time.now() - startMs).toBeLessThan(MINUTE);
    expect(made.told()).toHaveLength(before);
    expect(made.transactions.at(-1)?.progress.complete).toBe(true);
  });

  it('is asked without pause, or not asked again when it is well', async () => {
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

  it('that hangs is asked by more than its share', async () => {
    const made = bench(20, { concurrency: 2 });
    made.trouble = () => HOUR;
    await living(made, async () => {
      await made.time.sleep(30 * MINUTE);
      expect(made.requests).toHaveLength(2);
    });
  });

  it('in the middle of a load throws away what came before', async () => {
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

  it('keeps a demanded pull waiting until it is well', async () => {
    const made = bench(20);
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
      const startMs = made.time.now();
      await expect(runner.demand('FULL')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
      expect(made.time.now() - startMs).toBeLessThan(MINUTE);
      made.trouble = () => null;
      await made.time.sleep(MINUTE);
      await expect(runner.demand('FULL')).resolves.toMatchObject({ kind: 'complete' });
    });
  });
});

describe('a student for whom the hub has no answer', () => {
  it('keeps the others from being asked, by coming first', async () => {
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

  it('is given up for what was an outage', async () => {
    const made = bench(20);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
    await living(made, async (runner) => {
      void runner.demand('FULL').catch(() => undefined);
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
  ] as const)('holds up everybody, or loses what is known: %s', async (code, status) => {
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

  it.each([
    ['HUB_NOT_OFFERED', 404],
    ['HUB_FORBIDDEN', 403],
  ] as const)('passes, with others like it, for an API that is away: %s', async (code, status) => {
    const made = bench(30, { concurrency: 8 });
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      made.trouble = (student) => (student < 's13' ? hubTrouble(code, status) : null);
      const result = await runner.demand('FULL');
      expect(result).toMatchObject({ kind: 'complete', stats: { rowsRejected: 12 } });
    });
    expect(made.view().size).toBe(120);
  });

  it('is rejected although nobody else has an answer either', async () => {
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
  it('is asked all day, said again and again, or never asked again', async () => {
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

  it('is not offered either where the hub does not offer what says who is wanted, and comes once it does', async () => {
    const made = bench(3, { students: 'absent' });
    made.absent.add('s01');
    made.parents = 'not-offered';
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
    expect(await made.store.tenant('north').deletions.notOffered()).toEqual(new Set(['schedules']));
    await living(made, async (runner) => {
      expect(runner.isNotOffered).toBe(true);
      await expect(runner.demand('FULL')).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
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

  it('is told once, not at every look, that what says who is wanted is not offered', async () => {
    const made = bench(3);
    made.parents = 'not-offered';
    await living(made, () => made.time.sleep(2 * DAY));
    expect(made.events).toMatchObject([{ type: 'not-offered', collection: 'schedules', isNews: true }]);
  });

  it('that is not there when the first student is wanted is not offered, and no failure', async () => {
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

  it('fails a pull without saying why', async () => {
    const made = bench(20);
    made.trouble = () => hubTrouble('HUB_NOT_OFFERED', 404);
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
  });

  it('although lessons are known removes them', async () => {
    const made = bench(20);
    await pull(made);
    made.trouble = () => hubTrouble('HUB_NOT_OFFERED', 404);
    await expect(pull(made)).rejects.toMatchObject({ code: 'HUB_NOT_OFFERED' });
    expect(made.view().size).toBe(80);
  });
});

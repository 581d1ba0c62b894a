import { describe, expect, it } from 'vitest';
import type { SyncResult } from '../../../../src/pipeline/sync-result.ts';
import type { ScheduleRunner } from '../../../../src/pipeline/schedules/schedule-runner.ts';
import { ScheduleBench, type BenchOptions } from './schedule-bench.ts';
import { VirtualTime } from '../../../simulation/parts/virtual-time.ts';

const NOON = Date.parse('2026-11-18T12:30:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WEEK = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'];
const never = new AbortController().signal;

function bench(count: number, options: BenchOptions = {}): ScheduleBench {
  const made = new ScheduleBench(new VirtualTime(NOON), options);
  for (let number = 1; number <= count; number += 1) {
    const student = `s${String(number).padStart(3, '0')}`;
    made.students.push(student);
    made.lessons.set(student, new Set(WEEK));
  }
  return made;
}

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

async function pull(made: ScheduleBench): Promise<SyncResult> {
  return made.time.run(async () => (await made.start()).once('FULL', { signal: never }));
}

const empties = (made: ScheduleBench): string[] =>
  [...made.view()].filter(([, lessons]) => lessons === 0).map(([key]) => key);
const withheld = async (made: ScheduleBench): Promise<number> =>
  (await made.store.tenant('north').deletions.withheld('schedules')).size;
const asked = (made: ScheduleBench, from: number): string[] =>
  made.requests.slice(from).map(({ student }) => student);

describe('a day that loses its lessons', () => {
  it('is emptied after a second answer, five minutes later', async () => {
    const made = bench(20);
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.lessons.get('s007')?.delete('2026-11-19');
      const from = made.requests.length;
      made.change('s007');
      await made.time.sleep(4 * MINUTE);
      expect(empties(made)).toEqual([]);
      await made.time.sleep(2 * MINUTE);
      expect(empties(made)).toEqual(['s007|2026-11-19']);
      expect(asked(made, from)).toEqual(['s007', 's007']);
    });
    const changes = made.transactions
      .flatMap(({ records }) => records)
      .filter(({ key }) => key === 's007|2026-11-19');
    expect(changes.map(({ headers }) => headers['ce_type'])).toEqual([
      'rollcall.schedules.created',
      'rollcall.schedules.updated',
    ]);
  });

  it('and has them again by the second answer is not emptied', async () => {
    const made = bench(20);
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.lessons.get('s007')?.delete('2026-11-19');
      made.change('s007');
      await made.time.sleep(MINUTE);
      made.lessons.get('s007')?.add('2026-11-19');
      await made.time.sleep(HOUR);
    });
    expect(empties(made)).toEqual([]);
    expect(made.published().filter((line) => line === '+s007|2026-11-19')).toHaveLength(1);
  });

  it('is published as empty once, and filled again when the lessons come back', async () => {
    const made = bench(20);
    await pull(made);
    made.lessons.get('s007')?.delete('2026-11-19');
    await pull(made);
    expect(empties(made)).toEqual(['s007|2026-11-19']);
    const before = made.published().length;
    await pull(made);
    expect(made.published()).toHaveLength(before);
    made.lessons.get('s007')?.add('2026-11-19');
    await pull(made);
    expect(empties(made)).toEqual([]);
  });

  it('is asked for again in the same pull', async () => {
    const made = bench(20);
    await pull(made);
    made.lessons.get('s007')?.delete('2026-11-19');
    const before = made.requests.length;
    expect(await pull(made)).toMatchObject({ stats: { rowsUpdated: 1 }, withheld: 0 });
    expect(asked(made, before).filter((student) => student === 's007')).toHaveLength(2);
    expect(asked(made, before)).toHaveLength(21);
  });

  it('that never had any has no record', async () => {
    const made = bench(3);
    await pull(made);
    expect([...made.view().keys()].filter((key) => key.endsWith('-21'))).toEqual([]);
  });

  it('and leaves the window before the second answer is removed, not emptied', async () => {
    const made = bench(20);
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.lessons.get('s007')?.delete('2026-11-17');
      await made.time.sleep(10 * HOUR + 27 * MINUTE);
      made.change('s007');
      // 23:00 UTC is midnight.
      await made.time.sleep(20 * MINUTE);
      expect(empties(made)).toEqual([]);
      await made.time.sleep(5 * HOUR);
      expect(made.view().has('s007|2026-11-17')).toBe(false);
    });
  });
});

describe('a student who has no more lessons', () => {
  it('is believed only after the next daily sync', async () => {
    const made = bench(40);
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.lessons.get('s007')?.clear();
      // The number of answers does not matter: lost rights last for hours.
      made.change('s007');
      await made.time.sleep(HOUR / 2);
      made.change('s007');
      await made.time.sleep(HOUR / 2);
      expect(empties(made)).toEqual([]);
      // The sync of the next day ends at 03:00 UTC of the day after.
      await made.time.sleep(39 * HOUR);
      expect(empties(made).toSorted()).toEqual(['s007|2026-11-19', 's007|2026-11-20']);
    });
  });

  it('is believed after two answers in one pull', async () => {
    const made = bench(40);
    await pull(made);
    made.lessons.get('s007')?.clear();
    const before = made.requests.length;
    await pull(made);
    expect(asked(made, before).filter((student) => student === 's007')).toHaveLength(2);
    expect(empties(made)).toHaveLength(4);
  });
});

describe('lost rights: an answer without lessons for every student', () => {
  it('empties no day in any pull, and withholds all of them until the lessons are back', async () => {
    const made = bench(40);
    await pull(made);
    const before = made.published().length;
    made.answer = () => [];
    for (let times = 0; times < 3; times += 1) {
      const result = await pull(made);
      expect(result.kind === 'complete' ? result.withheld : 0).toBe(160);
    }
    expect(made.published()).toHaveLength(before);
    expect(await withheld(made)).toBe(160);
    expect(made.transactions.at(-1)?.progress.lastCompleteFull?.rowsWithheld).toBe(160);
    expect(made.events.filter(({ type }) => type === 'deletion')).toHaveLength(1);
    made.answer = (_, days) =>
      days.map((day) => ({
        id: `lesson of ${day}`,
        start: `${day}T08:15:00`,
        end: `${day}T09:00:00`,
        class: 'k',
      }));
    expect(await pull(made)).toMatchObject({ withheld: 0, stats: { rowsUnchanged: 160 } });
    expect(await withheld(made)).toBe(0);
    expect((await made.store.tenant('north').deletions.tripped()).size).toBe(0);
  });

  it('is reported within minutes', async () => {
    const made = bench(40);
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.answer = () => [];
      made.change(...made.students.slice(0, 25));
      await made.time.sleep(2 * MINUTE);
      expect(await withheld(made)).toBeGreaterThan(50);
      expect(made.events.filter(({ type }) => type === 'deletion')).toHaveLength(1);
    });
  });

  it('empties no day over the days either', async () => {
    const made = bench(40);
    await living(made, async () => {
      await made.time.sleep(MINUTE);
      made.answer = () => [];
      const before = made.published().filter((line) => line.startsWith('+')).length;
      await made.time.sleep(60 * HOUR);
      expect(made.published().filter((line) => line.startsWith('+'))).toHaveLength(before);
      expect(await withheld(made)).toBeGreaterThan(0);
    });
  });

  it('that ends during a day leaves no day empty and nothing withheld', async () => {
    const made = bench(40);
    await living(made, async () => {
      await made.time.sleep(15 * HOUR);
      const sound = made.answer;
      made.answer = () => [];
      await made.time.sleep(8 * HOUR);
      made.answer = sound;
      await made.time.sleep(48 * HOUR);
      expect(empties(made)).toEqual([]);
      expect(await withheld(made)).toBe(0);
      expect(made.transactions.at(-1)?.progress.rowsWithheld).toBe(0);
    });
  });

  it('for a few students is published, until the sum of the day is too large', async () => {
    const made = bench(200, { guard: { rows: 50, ratio: 0.05 } });
    await pull(made);
    for (const student of made.students.slice(0, 10)) made.lessons.get(student)?.clear();
    expect(await pull(made)).toMatchObject({ withheld: 0, stats: { rowsUpdated: 40 } });
    // With the sum of the day, 40 more are too many.
    for (const student of made.students.slice(10, 20)) made.lessons.get(student)?.clear();
    expect(await pull(made)).toMatchObject({ withheld: 40 });
    expect(empties(made)).toHaveLength(40);
  });
});

describe('the sum of a day', () => {
  it('counts emptied days as removed rows, and withholds from half of them on', async () => {
    const made = bench(1, { daysBack: 1, daysAhead: 8 });
    const days = Array.from({ length: 10 }, (_, number) =>
      new Date(NOON + (number - 1) * 24 * HOUR).toISOString().slice(0, 10),
    );
    made.lessons.set('s001', new Set(days));
    await pull(made);
    for (const day of days.slice(0, 4)) made.lessons.get('s001')?.delete(day);
    expect(await pull(made)).toMatchObject({ withheld: 0 });
    made.lessons.get('s001')?.delete(days[5] ?? '');
    expect(await pull(made)).toMatchObject({ withheld: 1 });
  });
});

describe('withheld days', () => {
  it('stay withheld after midnight and after a restart, and later ones join them', async () => {
    const made = bench(200);
    await pull(made);
    for (const student of made.students.slice(0, 40)) made.lessons.get(student)?.delete('2026-11-20');
    expect(await pull(made)).toMatchObject({ withheld: 0 });
    const first = empties(made).length;
    expect(first).toBe(40);
    for (const student of made.students.slice(40, 60)) made.lessons.get(student)?.delete('2026-11-20');
    expect(await pull(made)).toMatchObject({ withheld: 20 });
    for (const student of made.students.slice(40, 55)) made.lessons.get(student)?.add('2026-11-20');
    await made.time.run(() => made.time.sleep(24 * HOUR));
    expect(await pull(made)).toMatchObject({ withheld: 5 });
    // New losses join them.
    made.lessons.get('s100')?.delete('2026-11-20');
    expect(await pull(made)).toMatchObject({ withheld: 6 });
    expect(empties(made)).toHaveLength(first);
  });

  it('stay withheld when their list is lost', async () => {
    const made = bench(100);
    await pull(made);
    for (const student of made.students) made.lessons.get(student)?.delete('2026-11-20');
    expect(await pull(made)).toMatchObject({ withheld: 100 });
    const { deletions } = made.store.tenant('north');
    await deletions.setWithheld('schedules', new Map());
    await deletions.setMissing('schedules', new Map());
    await deletions.setTripped('schedules', false);
    for (const student of made.students.slice(3)) made.lessons.get(student)?.add('2026-11-20');
    expect(await pull(made)).toMatchObject({ withheld: 3 });
    expect(empties(made)).toEqual([]);
    for (const student of made.students) made.lessons.get(student)?.add('2026-11-20');
    expect(await pull(made)).toMatchObject({ withheld: 0 });
  });

  it('are dropped from the list once they have left the window', async () => {
    const made = bench(10);
    await pull(made);
    made.answer = () => [];
    expect(await pull(made)).toMatchObject({ withheld: 40 });
    await made.time.run(() => made.time.sleep(48 * HOUR));
    expect(await pull(made)).toMatchObject({ withheld: 20, stats: { rowsRemoved: 20 } });
    await made.time.run(() => made.time.sleep(96 * HOUR));
    expect(await pull(made)).toMatchObject({ withheld: 0 });
    expect(made.view().size).toBe(0);
  });

  it('of another collection withhold these too', async () => {
    const made = bench(40);
    await pull(made);
    const { deletions } = made.store.tenant('north');
    await deletions.setTripped('users', true);
    made.lessons.get('s007')?.delete('2026-11-19');
    expect(await pull(made)).toMatchObject({ withheld: 1 });
    await deletions.setTripped('users', false);
    expect(await pull(made)).toMatchObject({ withheld: 0, stats: { rowsUpdated: 1 } });
    expect(empties(made)).toEqual(['s007|2026-11-19']);
  });
});

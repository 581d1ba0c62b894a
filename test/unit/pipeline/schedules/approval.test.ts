import { describe, expect, it } from 'vitest';
import type { SyncResult } from '../../../../src/pipeline/sync-result.ts';
import type { ScheduleRunner } from '../../../../src/pipeline/schedules/schedule-runner.ts';
import { VirtualTime } from '../../../simulation/parts/virtual-time.ts';
import { hubTrouble, ScheduleBench } from './schedule-bench.ts';

const NOON = Date.parse('2026-11-18T12:30:00Z');
const MINUTE = 60_000;
const WEEK = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'];
const never = new AbortController().signal;

/** Forty students, of whom the first thirty have lost Thursday: those days are withheld. */
async function withheldBench(): Promise<ScheduleBench> {
  const made = new ScheduleBench(new VirtualTime(NOON), { guard: { rows: 10, ratio: 0.05 } });
  for (let number = 1; number <= 40; number += 1) {
    const student = `s${String(number).padStart(3, '0')}`;
    made.students.push(student);
    made.lessons.set(student, new Set(WEEK));
  }
  await pull(made);
  for (const student of made.students.slice(0, 30)) made.lessons.get(student)?.delete('2026-11-19');
  await pull(made);
  expect((await listed(made)).size).toBe(30);
  return made;
}

async function pull(made: ScheduleBench, approved?: ReadonlySet<string>): Promise<SyncResult> {
  return made.time.run(async () => (await made.start()).once('FULL', { signal: never, approved }));
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

const memoryOf = (made: ScheduleBench) => made.store.tenant('north').deletions;
const listed = async (made: ScheduleBench) => new Set((await memoryOf(made).withheld('schedules')).keys());
const empties = (made: ScheduleBench): string[] =>
  [...made.view()].filter(([, lessons]) => lessons === 0).map(([key]) => key);

describe('an approval of withheld days', () => {
  it('empties those that still have no lessons, asking only for their students', async () => {
    const made = await withheldBench();
    const keys = await listed(made);
    const from = made.requests.length;
    expect(await pull(made, keys)).toMatchObject({ kind: 'complete', approvedGone: 30, withheld: 0 });
    expect(new Set(made.requests.slice(from).map(({ student }) => student))).toEqual(
      new Set(made.students.slice(0, 30)),
    );
    expect(empties(made).length).toBe(30);
    expect([await listed(made), await memoryOf(made).tripped()]).toEqual([new Set(), new Set()]);
    expect((await memoryOf(made).removedOn('2026-11-18')).get('schedules') ?? 0).toBe(0);
  });

  it('leaves days whose lessons are back, days that were not listed, and the students that could not be asked', async () => {
    const made = await withheldBench();
    const keys = await listed(made);
    made.lessons.get('s001')?.add('2026-11-19');
    made.lessons.get('s002')?.delete('2026-11-20');
    made.trouble = (student) => (student === 's003' ? hubTrouble('HUB_REQUEST_REFUSED', 400) : null);
    expect(await pull(made, keys)).toMatchObject({ approvedGone: 28, withheld: 1 });
    expect(empties(made)).not.toContain('s001|2026-11-19');
    expect(empties(made)).not.toContain('s002|2026-11-20');
    expect(await listed(made)).toEqual(new Set(['s003|2026-11-19']));
  });

  it('is handled by the running process without waiting for the next sync', async () => {
    const made = await withheldBench();
    const keys = await listed(made);
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      const askedAtMs = made.time.now();
      expect(await runner.request('FULL', { approved: keys })).toMatchObject({ approvedGone: 30 });
      expect(made.time.now() - askedAtMs).toBeLessThan(MINUTE);
      // Later losses are withheld again.
      for (const student of made.students.slice(30)) made.lessons.get(student)?.clear();
      made.change(...made.students.slice(30));
      await made.time.sleep(20 * MINUTE);
      expect(empties(made).length).toBe(30);
    });
  });

  it('fails when the Core API is unavailable, and publishes nothing later', async () => {
    const made = await withheldBench();
    const keys = await listed(made);
    await living(made, async (runner) => {
      await made.time.sleep(MINUTE);
      made.trouble = () => hubTrouble('HUB_UNAVAILABLE', 503);
      await expect(runner.request('FULL', { approved: keys })).rejects.toMatchObject({
        code: 'HUB_UNAVAILABLE',
      });
      made.trouble = () => null;
      made.change(...made.students);
      await made.time.sleep(20 * MINUTE);
      expect(empties(made)).toEqual([]);
    });
    expect((await listed(made)).size).toBe(30);
  });

  it('that is discarded removes the list and empties nothing', async () => {
    const made = await withheldBench();
    await living(made, async (runner) => {
      await runner.discardWithheld();
      await made.time.sleep(MINUTE);
      expect(empties(made)).toEqual([]);
      expect(await listed(made)).toEqual(new Set());
    });
    expect(await memoryOf(made).note('schedules')).toMatchObject({
      settledPassId: made.writer?.progress?.lastCompleteFull?.passId,
    });
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AskQueue } from '../../../../src/core/schedules/ask-queue.ts';
import { ScheduleBench } from './schedule-bench.ts';
import { VirtualTime } from '../../../simulation/parts/virtual-time.ts';

/** On a Tuesday at 04:00 in Oslo the daily sync begins. */
const ROUND_MS = Date.parse('2026-11-17T03:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The share of schedules, with the default of 4 requests at a time. */
const SHARE = 2;
const LATENCY_MS = 200;

/**
 * 5 % are absent on a day, each day other students: over the window's six school days up to today 1 - 0.95^6 of them.
 * Each change is of another student, which leads to the largest number of requests.
 */
const ABSENT_IN_WINDOW = 1 - 0.95 ** 6;
const CHANGES_AT_PEAK = 40 / 30_000;

interface Requests {
  readonly firstLoad: number;
  readonly firstLoadMs: number;
  readonly aDay: number;
  readonly peakMinute: number;
}

type Which = 'absent' | 'all';

function idsOf(count: number): string[] {
  return Array.from({ length: count }, (_, number) => String(number));
}

/** Yields the students whose absences change in each minute of a day that begins at 04:00. */
function* changesOf(count: number): Generator<string[]> {
  let changed = 0;
  let owed = 0;
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    // A quarter of them come from 07:30 to 08:30, the others until 16:30.
    const atHour = 4 + minute / 60;
    const isPeak = atHour >= 7.5 && atHour < 8.5;
    const isDaytime = atHour >= 8.5 && atHour < 16.5;
    owed += count * CHANGES_AT_PEAK * (isPeak ? 1 : isDaytime ? 3 / 8 : 0);
    const students: string[] = [];
    for (; owed >= 1; owed -= 1, changed += 1)
      students.push(String((changed * 7919) % Math.round(count * 0.3)));
    yield students;
  }
}

function peakOf(requestsAtMs: readonly number[]): number {
  const minutes = new Map<number, number>();
  for (const atMs of requestsAtMs) {
    const minute = Math.floor(atMs / MINUTE);
    minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
  }
  return Math.max(...minutes.values());
}

function wantedOf(which: Which, count: number): number {
  return which === 'all' ? count : Math.round(count * ABSENT_IN_WINDOW);
}

/** Counts the requests of the runner itself. */
async function byRunner(which: Which, count: number): Promise<Requests> {
  const time = new VirtualTime(ROUND_MS + HOUR);
  // The number of days does not change the number of requests.
  const made = new ScheduleBench(time, {
    students: which,
    concurrency: SHARE,
    latencyMs: LATENCY_MS,
    daysBack: 0,
    daysAhead: 0,
  });
  made.students.push(...idsOf(count));
  for (const student of idsOf(wantedOf('absent', count))) made.absent.add(student);
  const stop = new AbortController();
  return time.run(async () => {
    const loop = (await made.start(stop.signal)).loop(stop.signal);
    while (!made.events.some(({ type }) => type === 'pass-ended')) await time.sleep(1_000);
    const full = made.transactions.findIndex(({ progress }) => progress.lastCompleteFull !== null);
    expect(full).toBeGreaterThan(-1);
    const firstLoad = made.requests.length;
    const firstLoadMs = (made.requests.at(-1)?.atMs ?? 0) + LATENCY_MS - (ROUND_MS + HOUR);
    await time.sleep(ROUND_MS + DAY - time.now());
    const from = made.requests.length;
    for (const students of changesOf(count)) {
      for (const student of students) made.absent.add(student);
      if (students.length > 0) made.change(...students);
      await time.sleep(MINUTE);
    }
    stop.abort(new Error('over'));
    await loop.catch(() => undefined);
    const day = made.requests.slice(from).map(({ atMs }) => atMs);
    return { firstLoad, firstLoadMs, aDay: day.length, peakMinute: peakOf(day) };
  });
}

/** Counts the requests of the runner's planner alone, which decides all of them and is fast enough for a county. */
function byPlanner(which: Which, count: number): Requests {
  const wanted = new Set(idsOf(wantedOf(which, count)));
  const queue = new AskQueue();
  const loading = simulate(queue, { nowMs: 0, endMs: 0, wanted, untilMs: DAY, changes: [] });
  const changes = [...changesOf(count)];
  const day = simulate(queue, { nowMs: DAY, endMs: 2 * DAY - HOUR, wanted, untilMs: 2 * DAY, changes });
  return {
    firstLoad: loading.length,
    firstLoadMs: (loading.at(-1) ?? 0) + LATENCY_MS,
    aDay: day.length,
    peakMinute: peakOf(day),
  };
}

/** Gives the time of each request of a sync. */
function simulate(
  queue: AskQueue,
  round: { nowMs: number; endMs: number; wanted: Set<string>; untilMs: number; changes: readonly string[][] },
): number[] {
  const requests: number[] = [];
  const underWay: { readonly student: string; readonly doneMs: number }[] = [];
  let { nowMs } = round;
  let minute = 0;
  queue.beginRound({ students: round.wanted, nowMs, endMs: round.endMs });
  while (nowMs < round.untilMs) {
    for (; (underWay[0]?.doneMs ?? Infinity) <= nowMs; underWay.shift())
      queue.answered(underWay[0]?.student ?? '');
    for (; minute < round.changes.length && round.nowMs + minute * MINUTE <= nowMs; minute += 1) {
      for (const student of round.changes[minute] ?? []) queue.change(student);
    }
    let wakeMs = underWay[0]?.doneMs ?? Infinity;
    if (underWay.length < SHARE) {
      const next = queue.next(nowMs);
      if (next.kind === 'ask') {
        requests.push(nowMs);
        underWay.push({ student: next.student, doneMs: nowMs + LATENCY_MS });
        continue;
      }
      wakeMs = Math.min(wakeMs, next.untilMs);
    }
    const nextChangeMs = minute < round.changes.length ? round.nowMs + minute * MINUTE : round.untilMs;
    nowMs = Math.min(wakeMs, nextChangeMs, round.untilMs);
  }
  return requests;
}

/** Makes a row as in the table of docs/schedules.md. */
function row(which: string, count: number, day: Requests): string {
  const seconds = Math.round(day.firstLoadMs / 1_000);
  const load = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  const number = (value: number): string => value.toLocaleString('en-US');
  return `| \`${which}\` | ${number(count)} | ${number(day.firstLoad)} in ${load} | ${number(day.aDay)} | ${day.peakMinute} |`;
}

describe('requests a day', () => {
  const documented = readFileSync(new URL('../../../../docs/schedules.md', import.meta.url), 'utf8');

  it.each([
    ['absent', 2_000],
    ['all', 2_000],
    ['absent', 30_000],
    ['all', 30_000],
  ] as const)('of %s with %i students are those in docs/schedules.md', (which, count) => {
    expect(documented).toContain(row(which, count, byPlanner(which, count)));
  });

  it('are the same by the runner as by the planner that the numbers are from', async () => {
    const planned = byPlanner('absent', 2_000);
    const made = await byRunner('absent', 2_000);
    expect(made.firstLoad).toBe(planned.firstLoad);
    expect(Math.abs(made.firstLoadMs - planned.firstLoadMs)).toBeLessThan(2_000);
    expect(Math.abs(made.aDay - planned.aDay)).toBeLessThan(planned.aDay * 0.02);
    expect(Math.abs(made.peakMinute - planned.peakMinute)).toBeLessThan(3);
  });
});

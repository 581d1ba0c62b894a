import { expect, it } from 'vitest';
import { SegmentRolls, type RollIntervals } from '../../../src/core/segment-rolls.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;
/** The settings of the contract. */
const INTERVALS: RollIntervals = new Map([['users', DAY_MS]]);

/**
 * Plays a month of a partition's changes and a process's starts, as Kafka keeps it: an append closes the segment before it
 * when that is older than the setting. Returns the times of markers and of closed segments.
 */
function play(changesMs: readonly number[], startsMs: readonly number[] = [0]) {
  const [markersMs, closedMs]: number[][] = [[], []];
  const append = (atMs: number): void => {
    if (atMs - (closedMs?.at(-1) ?? -Infinity) > DAY_MS) closedMs?.push(atMs);
  };
  let rolls = new SegmentRolls();
  let nextMs = 0;
  const [starts, changes] = [new Set(startsMs), new Set(changesMs)];
  for (let nowMs = 0; nowMs < 30 * DAY_MS; nowMs += MINUTE_MS) {
    if (changes.has(nowMs)) append(nowMs);
    if (starts.has(nowMs)) [rolls, nextMs] = [new SegmentRolls(), nowMs];
    if (nowMs < nextMs) continue;
    if (rolls.due(INTERVALS, nowMs).length > 0) {
      markersMs?.push(nowMs);
      append(nowMs);
    }
    nextMs = nowMs + rolls.pauseMs(INTERVALS, nowMs);
  }
  return { markersMs, closedMs };
}

it('closes the segment of any change within two intervals, even if the process restarts more often than that', () => {
  const startsMs = Array.from({ length: 36 }, (_, at) => at * 20 * HOUR_MS);
  for (const changeMs of [HOUR_MS, 12 * HOUR_MS, DAY_MS, 3 * DAY_MS + HOUR_MS, 20 * DAY_MS + 5 * HOUR_MS])
    for (const starts of [[0], startsMs]) {
      const closed = play([changeMs], starts).closedMs?.find((atMs) => atMs > changeMs) ?? Infinity;
      expect(closed - changeMs).toBeLessThanOrEqual(2 * DAY_MS + HOUR_MS);
    }
});

it('appends at most one marker per interval', () => {
  const changesMs = Array.from({ length: 24 * 30 }, (_, at) => at * HOUR_MS);
  expect(play(changesMs).markersMs?.length).toBeLessThanOrEqual(30);
});

it('delays no marker by more than an interval when a clock is corrected, and asks again for one that was missed', () => {
  const rolls = new SegmentRolls();
  const isDueAt = (nowMs: number): boolean => rolls.due(INTERVALS, nowMs).length > 0;
  expect([30 * DAY_MS, 0, HOUR_MS, 2 * DAY_MS].map(isDueAt)).toEqual([true, true, false, true]);
  rolls.missed(['users']);
  expect(rolls.due(INTERVALS, 2 * DAY_MS + 1)).toEqual(['users']);
});

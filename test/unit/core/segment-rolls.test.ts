import { describe, expect, it } from 'vitest';
import { SegmentRolls, type RollIntervals } from '../../../src/core/segment-rolls.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MONTH_MS = 30 * DAY_MS;
/** The settings of the contract. */
const INTERVALS: RollIntervals = new Map([['users', DAY_MS]]);

/** A partition as Kafka keeps it: an append closes the segment before it when that has grown older than the setting. */
class Segments {
  #firstMs: number | null = null;
  readonly closedMs: number[] = [];

  append(atMs: number): void {
    if (this.#firstMs !== null && atMs - this.#firstMs <= DAY_MS) return;
    this.closedMs.push(atMs);
    this.#firstMs = atMs;
  }
}

interface History {
  readonly changesMs: readonly number[];
  readonly startsMs?: readonly number[];
  readonly untilMs?: number;
}

/** Plays a partition's changes and a process's starts; returns the times of markers and of closed segments. */
function play({ changesMs, startsMs = [0], untilMs = MONTH_MS }: History) {
  const segments = new Segments();
  const markersMs: number[] = [];
  let rolls = new SegmentRolls();
  let nextMs = startsMs[0] ?? 0;
  const starts = new Set(startsMs);
  const changes = new Set(changesMs);
  const stepMs = 1_000 * 60;
  for (let nowMs = 0; nowMs < untilMs; nowMs += stepMs) {
    if (changes.has(nowMs)) segments.append(nowMs);
    if (starts.has(nowMs)) {
      rolls = new SegmentRolls();
      nextMs = nowMs;
    }
    if (nowMs < nextMs) continue;
    if (rolls.due(INTERVALS, nowMs).length > 0) {
      markersMs.push(nowMs);
      segments.append(nowMs);
    }
    nextMs = nowMs + rolls.pauseMs(INTERVALS, nowMs);
  }
  return { markersMs, closedMs: segments.closedMs };
}

describe('SegmentRolls', () => {
  it('closes the segment of any change within two intervals of it', () => {
    for (const changeMs of [HOUR_MS, 12 * HOUR_MS, DAY_MS, DAY_MS + HOUR_MS, 20 * DAY_MS + 5 * HOUR_MS]) {
      const { closedMs } = play({ changesMs: [changeMs] });
      const closed = closedMs.find((atMs) => atMs > changeMs) ?? Infinity;
      expect(closed - changeMs).toBeLessThanOrEqual(2 * DAY_MS + HOUR_MS);
    }
  });

  it('closes it even if the process restarts more often than the interval', () => {
    const startsMs = Array.from({ length: 36 }, (_, at) => at * 20 * HOUR_MS);
    const changeMs = 3 * DAY_MS + HOUR_MS;
    const { closedMs } = play({ changesMs: [changeMs], startsMs });
    const closed = closedMs.find((atMs) => atMs > changeMs) ?? Infinity;
    expect(closed - changeMs).toBeLessThanOrEqual(2 * DAY_MS + HOUR_MS);
  });

  it('appends at most one marker per interval', () => {
    const changesMs = Array.from({ length: 24 * 30 }, (_, at) => at * HOUR_MS);
    const { markersMs } = play({ changesMs });
    expect(markersMs.length).toBeLessThanOrEqual(30);
  });

  it('delays no marker by more than an interval when a clock that was ahead is corrected', () => {
    const rolls = new SegmentRolls();
    const isDueAt = (nowMs: number): boolean => rolls.due(INTERVALS, nowMs).length > 0;
    expect(isDueAt(30 * DAY_MS)).toBe(true);
    expect(isDueAt(0)).toBe(true);
    expect([isDueAt(HOUR_MS), isDueAt(2 * DAY_MS)]).toEqual([false, true]);
  });

  it('asks for a marker again at once when it was not appended', () => {
    const rolls = new SegmentRolls();
    expect(rolls.due(INTERVALS, 0)).toEqual(['users']);
    expect(rolls.due(INTERVALS, 1)).toEqual([]);
    rolls.missed(['users']);
    expect(rolls.due(INTERVALS, 2)).toEqual(['users']);
  });
});

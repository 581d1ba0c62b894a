import { describe, expect, it } from 'vitest';
import { SegmentRolls, type WrittenTopic } from '../../../src/core/segment-rolls.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MONTH_MS = 30 * DAY_MS;
/** The settings of the contract. */
const DAILY = { segmentMs: DAY_MS, maxCompactionLagMs: DAY_MS, deleteRetentionMs: 7 * DAY_MS };
const HISTORY = { ...DAILY, maxCompactionLagMs: 8 * DAY_MS };

/** A partition as Kafka keeps it: an append closes the segment before it when that has grown older than the setting. */
class Segments {
  #firstMs: number | null = null;
  readonly closedMs: number[] = [];

  append(atMs: number, { segmentMs, maxCompactionLagMs }: WrittenTopic['settings']): void {
    if (this.#firstMs !== null && atMs - this.#firstMs <= Math.min(segmentMs, maxCompactionLagMs)) return;
    this.closedMs.push(atMs);
    this.#firstMs = atMs;
  }
}

interface History {
  readonly changesMs: readonly number[];
  readonly startsMs?: readonly number[];
  readonly settings?: WrittenTopic['settings'];
  readonly untilMs?: number;
}

/** Plays a partition's changes and a process's starts; returns the times of markers and of closed segments. */
function play({ changesMs, startsMs = [0], settings = DAILY, untilMs = MONTH_MS }: History) {
  const segments = new Segments();
  const markersMs: number[] = [];
  let rolls = new SegmentRolls();
  let written = 0;
  const topicAt = (): WrittenTopic[] => [{ topic: 'users', settings, lastWritten: new Map([[0, written]]) }];
  let nextMs = startsMs[0] ?? 0;
  const starts = new Set(startsMs);
  const changes = new Set(changesMs);
  const stepMs = 1_000 * 60;
  for (let nowMs = 0; nowMs < untilMs; nowMs += stepMs) {
    if (changes.has(nowMs)) {
      written += 1;
      segments.append(nowMs, settings);
    }
    if (starts.has(nowMs)) {
      rolls = new SegmentRolls();
      nextMs = nowMs;
    }
    if (nowMs < nextMs) continue;
    if (rolls.due(topicAt(), nowMs).size > 0) {
      markersMs.push(nowMs);
      segments.append(nowMs, settings);
    }
    nextMs = nowMs + rolls.pauseMs(topicAt(), nowMs);
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

  it('closes another segment once the removal itself may be deleted', () => {
    for (const settings of [DAILY, HISTORY]) {
      const changeMs = 2 * DAY_MS + HOUR_MS;
      const { closedMs } = play({ changesMs: [changeMs], settings });
      const compactedMs = changeMs + 2 * DAY_MS + settings.maxCompactionLagMs;
      const mayGoMs = compactedMs + settings.deleteRetentionMs;
      expect(closedMs.filter((atMs) => atMs > mayGoMs).length).toBeGreaterThan(0);
    }
  });

  it('appends at most one marker per interval', () => {
    const changesMs = Array.from({ length: 24 * 30 }, (_, at) => at * HOUR_MS);
    const { markersMs } = play({ changesMs });
    expect(markersMs.length).toBeLessThanOrEqual(30);
  });

  it('stops appending to a partition that no longer changes', () => {
    const { markersMs } = play({ changesMs: [DAY_MS] });
    expect(Math.max(...markersMs)).toBeLessThanOrEqual(15 * DAY_MS);
    expect(markersMs.length).toBeLessThanOrEqual(15);
  });

  it('delays no marker by more than an interval when a clock that was ahead is corrected', () => {
    const rolls = new SegmentRolls();
    const dueAt = (nowMs: number, offset: number): boolean =>
      rolls.due([{ topic: 'users', settings: DAILY, lastWritten: new Map([[0, offset]]) }], nowMs).size > 0;
    expect(dueAt(30 * DAY_MS, 1)).toBe(true);
    expect(dueAt(0, 2)).toBe(true);
    expect([dueAt(HOUR_MS, 3), dueAt(2 * DAY_MS, 3)]).toEqual([false, true]);
  });

  it('asks for a marker again at once when it was not appended', () => {
    const rolls = new SegmentRolls();
    const topics: WrittenTopic[] = [{ topic: 'users', settings: DAILY, lastWritten: new Map([[0, 1]]) }];
    const due = rolls.due(topics, 0);
    expect(rolls.due(topics, 1)).toEqual(new Map());
    rolls.missed(due);
    expect(rolls.due(topics, 2)).toEqual(due);
  });
});

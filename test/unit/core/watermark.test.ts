import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOversized, incrementalReaches, syncClock } from '../../../src/core/watermark.ts';
import { forAll } from '../support/for-all.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW_MS = Date.parse('2026-03-04T03:00:00Z');

/** In minutes: the hub's time less ours, what it was at the sync before, and the configured overlap. */
it.each<[what: string, given: [number | null, number | null, number], expected: (number | null)[]]>([
  ['is that of the hub if the hub tells its time', [-180, null, 5], [-180, -185, -180]],
  ['is that of the process if the hub tells no time, with a larger overlap', [null, null, 5], [0, -60, null]],
  ['has the overlap of the configuration if that is larger', [null, null, 120], [0, -120, null]],
  ['does not follow a clock of the hub that jumps forward', [600, 0, 5], [0, -60, 600]],
  ['follows a clock of the hub from the sync after its jump on', [600, 600, 5], [600, 595, 600]],
  ['follows a drift of two minutes', [2, 0, 5], [2, -3, 2]],
  ['does not follow a drift of over two minutes', [2 + 1 / MINUTE_MS, 0, 5], [0, -60, 2 + 1 / MINUTE_MS]],
])('the clock of a sync %s', (_what, [hub, previous, overlap], expected) => {
  const { startedAtMs, watermarkMs, skewMs } = syncClock({
    hubTimeMs: hub === null ? null : NOW_MS + Math.round(hub * MINUTE_MS),
    localTimeMs: NOW_MS,
    previousSkewMs: previous && previous * MINUTE_MS,
    overlapMs: overlap * MINUTE_MS,
  });
  const minutes = [startedAtMs - NOW_MS, watermarkMs - NOW_MS, skewMs].map((ms) => ms && ms / MINUTE_MS);
  expect(minutes).toEqual(expected);
});

it("the watermark is earlier than the hub's clock and the start of the sync by at least the overlap", () => {
  const localTimeMs = fc.integer({ min: 0, max: 4e12 });
  const previousSkewMs = fc.option(fc.integer({ min: -1e9, max: 1e9 }));
  const of = {
    hubTimeMs: fc.option(localTimeMs),
    localTimeMs,
    previousSkewMs,
    overlapMs: fc.nat(HOUR_MS * 3),
  };
  forAll([fc.record(of)], (given) => {
    const { startedAtMs, watermarkMs } = syncClock(given);
    const { hubTimeMs, overlapMs } = given;
    expect(watermarkMs).toBeLessThanOrEqual((hubTimeMs ?? given.localTimeMs) - overlapMs);
    expect(watermarkMs).toBeLessThanOrEqual(startedAtMs - overlapMs);
  });
});

it('an incremental sync may reach back one day, and is oversized with more than half of the known rows', () => {
  const dayAgoMs = NOW_MS - 24 * HOUR_MS;
  expect([dayAgoMs, dayAgoMs - 1].map((ms) => incrementalReaches(ms, NOW_MS))).toEqual([true, false]);
  const oversized = [isOversized(50, 100), isOversized(51, 100), isOversized(0, 0), isOversized(1, 0)];
  expect(oversized).toEqual([false, true, false, true]);
});

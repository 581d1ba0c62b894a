import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOversized, incrementalReaches, syncClock } from '../../../src/core/watermark.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW_MS = Date.parse('2026-03-04T03:00:00Z');
const JUMPED_MS = NOW_MS + 10 * HOUR_MS;
const NONE = { hubTimeMs: null };
const GIVEN = { hubTimeMs: NOW_MS, localTimeMs: NOW_MS, previousSkewMs: null, overlapMs: 5 * MINUTE_MS };

it.each<
  [
    string,
    Partial<Parameters<typeof syncClock>[0]>,
    [started: number, watermark: number, skew: number | null],
  ]
>([
  ["is the hub's where that is known", { hubTimeMs: NOW_MS - 3 * HOUR_MS }, [-180, -185, -180]],
  ['is ours for a hub without one, with a larger overlap', NONE, [0, -60, null]],
  [
    'has the overlap of the configuration if that is larger',
    { ...NONE, overlapMs: 2 * HOUR_MS },
    [0, -120, null],
  ],
  [
    "does not follow the hub's that jumps forward",
    { hubTimeMs: JUMPED_MS, previousSkewMs: 0 },
    [0, -60, 600],
  ],
  [
    'follows it from the next sync on',
    { hubTimeMs: JUMPED_MS, previousSkewMs: 600 * MINUTE_MS },
    [600, 595, 600],
  ],
  ['follows a drift of two minutes', { hubTimeMs: NOW_MS + 2 * MINUTE_MS, previousSkewMs: 0 }, [2, -3, 2]],
  [
    'follows no more',
    { hubTimeMs: NOW_MS + 2 * MINUTE_MS + 1, previousSkewMs: 0 },
    [0, -60, 2 + 1 / MINUTE_MS],
  ],
])('the clock of a sync %s', (_name, given, expected) => {
  const { startedAtMs, watermarkMs, skewMs } = syncClock({ ...GIVEN, ...given });
  const minutes = [startedAtMs - NOW_MS, watermarkMs - NOW_MS, skewMs].map((ms) => ms && ms / MINUTE_MS);
  expect(minutes).toEqual(expected);
});

it("keeps the watermark at least the overlap before the hub's clock and before the start of the sync", () => {
  const time = fc.integer({ min: 0, max: 4e12 });
  const skew = fc.option(fc.integer({ min: -1e9, max: 1e9 }));
  const of = {
    hubTimeMs: fc.option(time),
    localTimeMs: time,
    previousSkewMs: skew,
    overlapMs: fc.nat(HOUR_MS * 3),
  };
  fc.assert(
    fc.property(fc.record(of), (given) => {
      const { startedAtMs, watermarkMs } = syncClock(given);
      const { hubTimeMs, localTimeMs, overlapMs } = given;
      expect(watermarkMs).toBeLessThanOrEqual((hubTimeMs ?? localTimeMs) - overlapMs);
      expect(watermarkMs).toBeLessThanOrEqual(startedAtMs - overlapMs);
    }),
  );
});

it('an incremental sync may reach back one day, and is oversized with more than half of the known rows', () => {
  const dayAgoMs = NOW_MS - 24 * HOUR_MS;
  expect([dayAgoMs, dayAgoMs - 1].map((ms) => incrementalReaches(ms, NOW_MS))).toEqual([true, false]);
  const oversized = [isOversized(50, 100), isOversized(51, 100), isOversized(0, 0), isOversized(1, 0)];
  expect(oversized).toEqual([false, true, false, true]);
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOversized, incrementalReaches, syncClock } from '../../../src/core/watermark.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const OVERLAP_MS = 5 * MINUTE_MS;
const NOW_MS = Date.parse('2026-03-04T03:00:00Z');

describe('the clock of a sync', () => {
  const at = (options: Partial<Parameters<typeof syncClock>[0]>) =>
    syncClock({
      hubTimeMs: NOW_MS,
      localTimeMs: NOW_MS,
      previousSkewMs: null,
      overlapMs: OVERLAP_MS,
      ...options,
    });

  it("takes the watermark from the hub's clock where that is known", () => {
    const clock = at({ hubTimeMs: NOW_MS - 3 * HOUR_MS });
    expect(clock).toEqual({
      startedAtMs: NOW_MS - 3 * HOUR_MS,
      watermarkMs: NOW_MS - 3 * HOUR_MS - OVERLAP_MS,
      skewMs: -3 * HOUR_MS,
    });
  });

  it('uses a larger overlap for a hub without a clock', () => {
    expect(at({ hubTimeMs: null })).toEqual({
      startedAtMs: NOW_MS,
      watermarkMs: NOW_MS - HOUR_MS,
      skewMs: null,
    });
    expect(at({ hubTimeMs: null, overlapMs: 2 * HOUR_MS }).watermarkMs).toBe(NOW_MS - 2 * HOUR_MS);
  });

  it('does not move the watermark past changes by a hub clock that jumps forward', () => {
    const clock = at({ hubTimeMs: NOW_MS + 10 * HOUR_MS, previousSkewMs: 0 });
    expect(clock.watermarkMs).toBe(NOW_MS - HOUR_MS);
  });

  it('trusts a hub clock that was corrected again from the next sync on', () => {
    const jumped = at({ hubTimeMs: NOW_MS + 10 * HOUR_MS, previousSkewMs: 0 });
    const next = at({ hubTimeMs: NOW_MS + 10 * HOUR_MS + 1, previousSkewMs: jumped.skewMs });
    expect(next.startedAtMs).toBe(NOW_MS + 10 * HOUR_MS + 1);
  });

  it('trusts a drift of up to two minutes', () => {
    expect(at({ hubTimeMs: NOW_MS + 2 * MINUTE_MS, previousSkewMs: 0 }).startedAtMs).toBe(
      NOW_MS + 2 * MINUTE_MS,
    );
    expect(at({ hubTimeMs: NOW_MS + 2 * MINUTE_MS + 1, previousSkewMs: 0 }).startedAtMs).toBe(NOW_MS);
  });

  it("keeps the watermark at least the overlap before the hub's clock and before the start of the sync", () => {
    const time = fc.integer({ min: 0, max: 4e12 });
    const skew = fc.option(fc.integer({ min: -1e9, max: 1e9 }));
    fc.assert(
      fc.property(
        fc.option(time),
        time,
        skew,
        fc.nat(HOUR_MS * 3),
        (hubTimeMs, localTimeMs, previousSkewMs, overlapMs) => {
          const { startedAtMs, watermarkMs } = syncClock({
            hubTimeMs,
            localTimeMs,
            previousSkewMs,
            overlapMs,
          });
          expect(watermarkMs).toBeLessThanOrEqual((hubTimeMs ?? localTimeMs) - overlapMs);
          expect(watermarkMs).toBeLessThanOrEqual(startedAtMs - overlapMs);
        },
      ),
    );
  });
});

describe('an incremental sync', () => {
  it('may reach back one day and no further', () => {
    expect(incrementalReaches(NOW_MS - 24 * HOUR_MS, NOW_MS)).toBe(true);
    expect(incrementalReaches(NOW_MS - 24 * HOUR_MS - 1, NOW_MS)).toBe(false);
  });

  it('is oversized if it brings more than half of the known rows', () => {
    expect(isOversized(50, 100)).toBe(false);
    expect(isOversized(51, 100)).toBe(true);
    expect(isOversized(0, 0)).toBe(false);
    expect(isOversized(1, 0)).toBe(true);
  });
});

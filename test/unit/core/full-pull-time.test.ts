import * as fc from 'fast-check';
import { Cron } from 'croner';
import { describe, expect, it, vi } from 'vitest';
import { lastFullPullDue, localDate } from '../../../src/core/full-pull-time.ts';

const HOUR_MS = 3_600_000;
const OSLO = 'Europe/Oslo';

function due(at: string, now: string, timeZone = OSLO): string {
  return new Date(lastFullPullDue({ at, timeZone }, Date.parse(now))).toISOString();
}

describe('the last due time of a full sync', () => {
  it('the time is that of the named zone, in winter and in summer', () => {
    expect(due('04:00', '2026-01-15T12:00:00Z')).toBe('2026-01-15T03:00:00.000Z');
    expect(due('04:00', '2026-07-15T12:00:00Z')).toBe('2026-07-15T02:00:00.000Z');
    expect(due('04:00', '2026-07-15T12:00:00Z', 'Asia/Kathmandu')).toBe('2026-07-14T22:15:00.000Z');
  });

  it("before the time of day, the last due time is yesterday's; a second after it, it is today's", () => {
    expect(due('04:00', '2026-01-15T02:59:59Z')).toBe('2026-01-14T03:00:00.000Z');
    expect(due('04:00', '2026-01-15T03:00:01Z')).toBe('2026-01-15T03:00:00.000Z');
  });

  it('a full sync that is due now counts as due from the next millisecond on', () => {
    expect(due('04:10', '2026-01-15T03:10:00.000Z')).toBe('2026-01-14T03:10:00.000Z');
    expect(due('04:10', '2026-01-15T03:10:00.001Z')).toBe('2026-01-15T03:10:00.000Z');
  });

  it('a time of day that spring skips still gives that day its full sync', () => {
    // On 29 March 2026 the clocks of Oslo go from 02:00 to 03:00.
    const dueAtMs = Date.parse(due('02:30', '2026-03-29T12:00:00Z'));
    expect(dueAtMs).toBeGreaterThanOrEqual(Date.parse('2026-03-29T00:00:00Z'));
    expect(dueAtMs).toBeLessThanOrEqual(Date.parse('2026-03-29T02:00:00Z'));
  });

  it('a time of day that autumn repeats gives that day one full sync', () => {
    // On 25 October 2026 the clocks of Oslo go from 03:00 back to 02:00.
    const first = due('02:30', '2026-10-25T00:59:00Z');
    expect(due('02:30', '2026-10-25T12:00:00Z')).toBe(first);
  });

  it('the days before, which lateness looks at, are calculated once too', () => {
    const calculated = vi.spyOn(Cron.prototype, 'previousRuns');
    for (let second = 10; second < 20; second += 1) {
      expect(due('04:20', `2026-01-15T12:00:${second}Z`)).toBe('2026-01-15T03:20:00.000Z');
      expect(due('04:20', `2026-01-14T09:00:${second}Z`)).toBe('2026-01-14T03:20:00.000Z');
    }
    expect(calculated).toHaveBeenCalledTimes(2);
    calculated.mockRestore();
  });

  it('a full sync is due at least every 26 hours, whatever the zone and the time of day', () => {
    const zones = fc.constantFrom(OSLO, 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC');
    const time = fc
      .tuple(fc.nat(23), fc.nat(59))
      .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
    const now = fc.integer({
      min: Date.parse('2024-01-01T00:00:00Z'),
      max: Date.parse('2034-01-01T00:00:00Z'),
    });
    fc.assert(
      fc.property(zones, time, now, (timeZone, at, nowMs) => {
        const dueAtMs = lastFullPullDue({ at, timeZone }, nowMs);
        expect(dueAtMs).toBeLessThanOrEqual(nowMs);
        expect(nowMs - dueAtMs).toBeLessThanOrEqual(26 * HOUR_MS);
      }),
      { numRuns: 300 },
    );
  });

  it('the due time never moves back', () => {
    const start = Date.parse('2026-10-24T00:00:00Z');
    let before = 0;
    for (let nowMs = start; nowMs < start + 48 * HOUR_MS; nowMs += 5 * 60_000) {
      const dueAtMs = lastFullPullDue({ at: '02:30', timeZone: OSLO }, nowMs);
      expect(dueAtMs).toBeGreaterThanOrEqual(before);
      before = dueAtMs;
    }
  });
});

describe("the date that counts a day's deletions", () => {
  it('the date is that of the named zone', () => {
    expect(localDate(Date.parse('2026-03-04T23:30:00Z'), OSLO)).toBe('2026-03-05');
    expect(localDate(Date.parse('2026-03-04T22:30:00Z'), OSLO)).toBe('2026-03-04');
    expect(localDate(Date.parse('2026-03-04T03:00:00Z'), 'America/Los_Angeles')).toBe('2026-03-03');
  });
});

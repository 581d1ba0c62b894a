import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { lastDailyTime } from '../../../src/core/daily-time.ts';
import { forMany } from '../support/for-all.ts';

const HOUR_MS = 3_600_000;
const OSLO = 'Europe/Oslo';

const due = (at: string, now: string, timeZone = OSLO) =>
  new Date(lastDailyTime({ at, timeZone }, Date.parse(now))).toISOString();

it.each([
  ['04:00', '2026-07-15T12:00:00Z', OSLO, '2026-07-15T02:00:00.000Z'],
  ['04:00', '2026-07-15T12:00:00Z', 'Asia/Kathmandu', '2026-07-14T22:15:00.000Z'],
  ['04:10', '2026-01-15T03:10:00.000Z', OSLO, '2026-01-14T03:10:00.000Z'],
  ['04:10', '2026-01-15T03:10:00.001Z', OSLO, '2026-01-15T03:10:00.000Z'],
  // the clocks go from 02:00 to 03:00 on 29 March, and from 03:00 back to 02:00 on 25 October
  ['02:30', '2026-03-29T12:00:00Z', OSLO, '2026-03-29T01:30:00.000Z'],
  ['02:30', '2026-10-25T00:59:00Z', OSLO, '2026-10-25T00:30:00.000Z'],
  ['02:30', '2026-10-25T12:00:00Z', OSLO, '2026-10-25T00:30:00.000Z'],
])('the sync of $0 was last due at $3 ($1, $2)', (at, now, zone, expected) => {
  expect(due(at, now, zone)).toEqual(expected);
});

it('a daily full sync is due at least every 26 hours in any zone, and its time never moves back', () => {
  const zones = fc.constantFrom(OSLO, 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC');
  const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(-13, -8));
  const autumn = Date.parse('2026-10-24T00:00:00Z');
  const now = fc.oneof(
    fc.integer({ min: Date.parse('2024-01-01'), max: Date.parse('2034-01-01') }),
    fc.integer({ min: autumn, max: autumn + 48 * HOUR_MS }),
  );
  forMany(400, [zones, time, now, fc.nat(48 * HOUR_MS)], (timeZone, at, nowMs, laterMs) => {
    const dueAtMs = lastDailyTime({ at, timeZone }, nowMs);
    expect(dueAtMs).toBeLessThanOrEqual(nowMs);
    expect(nowMs - dueAtMs).toBeLessThanOrEqual(26 * HOUR_MS);
    expect(lastDailyTime({ at, timeZone }, nowMs + laterMs)).toBeGreaterThanOrEqual(dueAtMs);
  });
});

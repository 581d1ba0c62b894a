import * as fc from 'fast-check';
import { Cron } from 'croner';
import { expect, it, vi } from 'vitest';
import { lastFullPullDue, localDate } from '../../../src/core/full-pull-time.ts';

const HOUR_MS = 3_600_000;
const OSLO = 'Europe/Oslo';

const dueMs = (at: string, now: string, timeZone = OSLO) =>
  lastFullPullDue({ at, timeZone }, Date.parse(now));
const due = (...given: Parameters<typeof dueMs>) => new Date(dueMs(...given)).toISOString();

it.each([
  ['in winter', '04:00', '2026-01-15T12:00:00Z', OSLO, '2026-01-15T03:00:00.000Z'],
  ['in summer', '04:00', '2026-07-15T12:00:00Z', OSLO, '2026-07-15T02:00:00.000Z'],
  [
    'in the zone that is named',
    '04:00',
    '2026-07-15T12:00:00Z',
    'Asia/Kathmandu',
    '2026-07-14T22:15:00.000Z',
  ],
  ['yesterday before it', '04:00', '2026-01-15T02:59:59Z', OSLO, '2026-01-14T03:00:00.000Z'],
  ['today a second after it', '04:00', '2026-01-15T03:00:01Z', OSLO, '2026-01-15T03:00:00.000Z'],
  ['yesterday at the very time', '04:10', '2026-01-15T03:10:00.000Z', OSLO, '2026-01-14T03:10:00.000Z'],
  ['today a millisecond after it', '04:10', '2026-01-15T03:10:00.001Z', OSLO, '2026-01-15T03:10:00.000Z'],
])('a full sync was due last %s', (_name, at, now, zone, expected) => {
  expect(due(at, now, zone)).toBe(expected);
});

it('a time of day that spring skips gives that day its full sync, and one that autumn repeats only one', () => {
  // On 29 March 2026 the clocks of Oslo go from 02:00 to 03:00, and on 25 October from 03:00 back to 02:00.
  const dueAtMs = dueMs('02:30', '2026-03-29T12:00:00Z');
  expect(dueAtMs).toBeGreaterThanOrEqual(Date.parse('2026-03-29T00:00:00Z'));
  expect(dueAtMs).toBeLessThanOrEqual(Date.parse('2026-03-29T02:00:00Z'));
  expect(due('02:30', '2026-10-25T12:00:00Z')).toBe(due('02:30', '2026-10-25T00:59:00Z'));
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

it('a full sync is due at least every 26 hours, whatever the zone and the time of day, and never moves back', () => {
  const zones = fc.constantFrom(OSLO, 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC');
  const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(-13, -8));
  const now = fc.integer({ min: Date.parse('2024-01-01'), max: Date.parse('2034-01-01') });
  fc.assert(
    fc.property(zones, time, now, fc.nat(48 * HOUR_MS), (timeZone, at, nowMs, laterMs) => {
      const dueAtMs = lastFullPullDue({ at, timeZone }, nowMs);
      expect(dueAtMs).toBeLessThanOrEqual(nowMs);
      expect(nowMs - dueAtMs).toBeLessThanOrEqual(26 * HOUR_MS);
      expect(lastFullPullDue({ at, timeZone }, nowMs + laterMs)).toBeGreaterThanOrEqual(dueAtMs);
    }),
    { numRuns: 300 },
  );
  const start = Date.parse('2026-10-24T00:00:00Z');
  const aroundAutumn = Array.from({ length: 576 }, (_, at) => new Date(start + at * 300_000).toISOString());
  const all = aroundAutumn.map((at) => dueMs('02:30', at));
  expect(all).toEqual(all.toSorted((one, other) => one - other));
});

it("the date that counts a day's deletions is that of the named zone", () => {
  const date = (text: string, zone: string) => localDate(Date.parse(text), zone);
  expect(date('2026-03-04T23:30:00Z', OSLO)).toBe('2026-03-05');
  expect(date('2026-03-04T22:30:00Z', OSLO)).toBe('2026-03-04');
  expect(date('2026-03-04T03:00:00Z', 'America/Los_Angeles')).toBe('2026-03-03');
});

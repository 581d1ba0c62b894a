import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { zoneClock } from '../../../src/core/zone-clock.ts';
import { forMany } from '../support/for-all.ts';

/** As Intl alone formats an instant, in a way that the clock under test does not use. */
const shownAt = (ms: number, timeZone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(ms);

it.each([
  // spring skips an hour in Oslo, and half of one at Lord Howe; autumn has one twice
  ['Europe/Oslo', '2026-03-29T01:59', '2026-03-29T00:59:00.000Z'],
  ['Europe/Oslo', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
  ['Europe/Oslo', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
  ['Europe/Oslo', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ['Europe/Oslo', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
  ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:45:00.000Z'],
  ['Pacific/Apia', '2026-01-01T12:00', '2025-12-31T23:00:00.000Z'],
])('the clock of %s gives the right instant for the local time %s', (zone, text, expected) => {
  expect(new Date(zoneClock(zone).instantOf(Date.parse(`${text}Z`))).toISOString()).toBe(expected);
});

it('the last second of 9999 is on the last day of 9999 in every zone', () => {
  for (const zone of ['Europe/Oslo', 'Pacific/Kiritimati', 'America/New_York'])
    expect(zoneClock(zone).dateAt(Date.parse('9999-12-31T23:59:59Z'))).toBe('9999-12-31');
});

it('a local time leads back to its instant, except in the hour that autumn repeats', () => {
  const zones = 'Europe/Oslo America/New_York Australia/Lord_Howe Asia/Kathmandu Africa/Casablanca'.split(
    ' ',
  );
  const at = fc.integer({ min: Date.parse('2020-01-01'), max: Date.parse('2030-01-01') });
  forMany(300, [fc.constantFrom(...zones), at], (zone, ms) => {
    const shown = shownAt(ms, zone);
    const clock = zoneClock(zone);
    expect(clock.dateAt(ms)).toBe(shown.slice(0, 10));
    const found = clock.instantOf(Date.parse(`${shown.replace(' ', 'T')}Z`));
    const second = Math.floor(ms / 1000) * 1000;
    expect([second, second - 3_600_000, second - 1_800_000]).toContain(found);
    expect(shownAt(found, zone)).toBe(shown);
  });
});

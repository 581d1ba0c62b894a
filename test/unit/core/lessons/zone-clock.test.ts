import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createZoneClock } from '../../../../src/core/lessons/zone-clock.ts';

const wall = (text: string): number => Date.parse(`${text}Z`);
const instant = (zone: string, text: string): string =>
  new Date(createZoneClock(zone).instantOf(wall(text))).toISOString();

describe('local time', () => {
  it('in the hour that spring skips is shifted by that hour', () => {
    expect(instant('Europe/Oslo', '2026-03-29T01:59')).toBe('2026-03-29T00:59:00.000Z');
    expect(instant('Europe/Oslo', '2026-03-29T02:30')).toBe('2026-03-29T01:30:00.000Z');
    expect(instant('Europe/Oslo', '2026-03-29T03:30')).toBe('2026-03-29T01:30:00.000Z');
    expect(instant('Europe/Oslo', '2026-03-29T08:15')).toBe('2026-03-29T06:15:00.000Z');
  });

  it.each(['0012', '0024', '0031', '0099', '0999'])('in the year %s has its date', (year) => {
    for (const zone of ['Europe/Oslo', 'America/St_Johns'])
      expect(createZoneClock(zone).dateAt(Date.parse(`${year}-09-01T12:00:00Z`))).toBe(`${year}-09-01`);
  });

  it('in the hour that autumn repeats is the first of the two instants', () => {
    expect(instant('Europe/Oslo', '2026-10-25T01:30')).toBe('2026-10-24T23:30:00.000Z');
    expect(instant('Europe/Oslo', '2026-10-25T02:30')).toBe('2026-10-25T00:30:00.000Z');
    expect(instant('Europe/Oslo', '2026-10-25T03:00')).toBe('2026-10-25T02:00:00.000Z');
    expect(instant('Europe/Oslo', '2026-10-25T08:15')).toBe('2026-10-25T07:15:00.000Z');
  });

  it.each([
    ['America/St_Johns', '2026-03-08T02:30', '2026-03-08T06:00:00.000Z'],
    ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:45:00.000Z'],
    ['Asia/Kathmandu', '2026-06-01T00:00', '2026-05-31T18:15:00.000Z'],
    ['Pacific/Apia', '2026-01-01T12:00', '2025-12-31T23:00:00.000Z'],
    ['UTC', '2026-03-29T02:30', '2026-03-29T02:30:00.000Z'],
  ])('follows offsets that are no complete hours: %s %s', (zone, text, expected) => {
    expect(instant(zone, text)).toBe(expected);
  });

  it('has days that begin at local midnight', () => {
    const oslo = createZoneClock('Europe/Oslo');
    expect(oslo.dateAt(Date.parse('2026-03-28T22:59:59Z'))).toBe('2026-03-28');
    expect(oslo.dateAt(Date.parse('2026-03-28T23:00:00Z'))).toBe('2026-03-29');
    expect(oslo.dateAt(Date.parse('2026-03-29T21:59:59Z'))).toBe('2026-03-29');
    expect(oslo.dateAt(Date.parse('2026-03-29T22:00:00Z'))).toBe('2026-03-30');
    expect(oslo.dateAt(Date.parse('2026-10-25T22:59:59Z'))).toBe('2026-10-25');
    expect(oslo.dateAt(Date.parse('2026-10-25T23:00:00Z'))).toBe('2026-10-26');
  });

  it('keeps the end of 9999 in 9999, in each zone, so that it stays after all other dates', () => {
    for (const zone of ['Europe/Oslo', 'Pacific/Kiritimati', 'UTC', 'America/New_York']) {
      const date = createZoneClock(zone).dateAt(Date.parse('9999-12-31T23:59:59Z'));
      expect(date).toBe('9999-12-31');
    }
  });

  it('gives the instant back, except for the repeated hour in autumn', () => {
    const zones = [
      'Europe/Oslo',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
      'Africa/Casablanca',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.parse('2020-01-01'), max: Date.parse('2030-01-01') }),
        (zone, ms) => {
          // Intl alone formats this, in a way that the clock under test does not use.
          const shown = new Intl.DateTimeFormat('sv-SE', {
            timeZone: zone,
            dateStyle: 'short',
            timeStyle: 'medium',
          }).format(ms);
          const clock = createZoneClock(zone);
          expect(clock.dateAt(ms)).toBe(shown.slice(0, 10));
          const found = clock.instantOf(Date.parse(`${shown.replace(' ', 'T')}Z`));
          const floored = Math.floor(ms / 1000) * 1000;
          expect([floored, floored - 3_600_000, floored - 1_800_000]).toContain(found);
          const republication = new Intl.DateTimeFormat('sv-SE', {
            timeZone: zone,
            dateStyle: 'short',
            timeStyle: 'medium',
          }).format(found);
          expect(republication).toBe(shown);
        },
      ),
      { numRuns: 300 },
    );
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseDate, parseTimestamp } from '../../../src/core/timestamps.ts';

describe('parseTimestamp', () => {
  it('every instant between the years 0 and 9999 is read as itself', () => {
    const instants = fc.integer({
      min: Date.UTC(0, 0, 1) - 1900 * 365 * 86_400_000,
      max: Date.UTC(9999, 11, 31),
    });
    fc.assert(
      fc.property(instants, (ms) => {
        fc.pre(ms >= Date.parse('0000-01-01T00:00:00Z'));
        expect(parseTimestamp(new Date(ms).toISOString())).toBe(ms);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['2026-03-04T08:00:00Z', '2026-03-04T08:00:00.000Z'],
    ['2026-03-04T08:00:00.1Z', '2026-03-04T08:00:00.100Z'],
    ['2026-03-04T08:00:00.1230000Z', '2026-03-04T08:00:00.123Z'],
    ['2026-03-04T08:00Z', '2026-03-04T08:00:00.000Z'],
    ['2026-03-04t08:00:00z', '2026-03-04T08:00:00.000Z'],
    ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
  ])('%s, which ms hold, is exact', (text, instant) => {
    const read = parseTimestamp(text);
    const { ms, exact } =
      typeof read === 'number' ? { ms: read, exact: true } : (read ?? { ms: NaN, exact: false });
    expect({ instant: new Date(ms).toISOString(), exact }).toEqual({ instant, exact: true });
  });

  it.each([
    ['2026-03-04T08:00:00.123456Z', '2026-03-04T08:00:00.123Z'],
    ['2026-03-04T08:00:00.9999Z', '2026-03-04T08:00:00.999Z'],
    ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
    ['2026-03-04T08:00:00+01:00', '2026-03-04T07:00:00.000Z'],
    ['2026-03-04T00:30:00.5-0230', '2026-03-04T03:00:00.500Z'],
    ['2026-03-04T08:00:00+00:00', '2026-03-04T08:00:00.000Z'],
    ['2026-03-04 08:00:00+01', '2026-03-04T07:00:00.000Z'],
  ])('%s, which says more than ms, is not exact', (text, instant) => {
    const read = parseTimestamp(text);
    expect(read).toEqual({ ms: Date.parse(instant), exact: false });
  });

  it.each([
    '',
    '2026-03-04',
    '2026-03-04T08:00:00',
    '2026-03-04T08:00:00.000',
    '2026-02-29T08:00:00Z',
    '2026-13-01T08:00:00Z',
    '2026-00-01T08:00:00Z',
    '2026-03-00T08:00:00Z',
    '2026-03-04T24:00:00Z',
    '2026-03-04T08:60:00Z',
    '2026-03-04T08:00:60Z',
    '2026-03-04T08:00:00+24:00',
    '+002026-03-04T08:00:00Z',
    '2026/03/04T08:00:00Z',
    '2026-03-04T08:00:00.12xZ',
    '2026-03-04T08:00:00.xxxZ',
    ' 2026-03-04T08:00:00Z',
    '1772611200000',
    'yesterday',
  ])('no time is guessed from %j', (text) => {
    expect(parseTimestamp(text)).toBeNull();
  });
});

describe('parseDate', () => {
  it('every day is read as itself', () => {
    for (let day = -719_528; day <= 2_932_896; day += 13) {
      expect(parseDate(new Date(day * 86_400_000).toISOString().slice(0, 10))).toBe(day);
    }
  });

  it.each([
    '',
    '2026-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-3-4',
    '20260304',
    '2026-03-04T00:00:00Z',
    'yyyy-mm-dd',
  ])('no date is guessed from %j', (text) => {
    expect(parseDate(text)).toBeNaN();
  });
});

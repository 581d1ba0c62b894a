import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { isNoTime, parseDate, parseTimestamp } from '../../../src/core/rows/timestamps.ts';
import { forMany } from '../support/for-all.ts';

it('every instant of the years 1 to 9999 is read as itself', () => {
  const [min, max] = [Date.parse('0001-01-01T00:00:00.001Z'), Date.parse('9999-12-31T23:59:59.999Z')];
  forMany(2000, [fc.integer({ min, max })], (ms) => {
    expect(parseTimestamp(new Date(ms).toISOString())).toBe(ms);
  });
});

it.each([
  ['2026-03-04T08:00:00.1Z', '2026-03-04T08:00:00.100Z', true],
  ['2026-03-04T08:00:00.1230000Z', '2026-03-04T08:00:00.123Z', true],
  ['2026-03-04t08:00z', '2026-03-04T08:00:00.000Z', true],
  ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z', true],
  ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z', false],
  ['2026-03-04 08:00:00+01', '2026-03-04T07:00:00.000Z', false],
  ['2026-03-04T00:30:00.5-0230', '2026-03-04T03:00:00.500Z', false],
  ['2026-03-04T08:00:00+00:00', '2026-03-04T08:00:00.000Z', true],
  ['2026-03-04T08:00:00-00:00', '2026-03-04T08:00:00.000Z', false],
  ['0001-01-01T02:00:00+01:00', '0001-01-01T01:00:00.000Z', false],
  ['9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.999Z', false],
])('the time %s is read as %s, exactly: %s', (text, instant, isExact) => {
  const ms = Date.parse(instant);
  const read = parseTimestamp(text);
  expect(typeof read === 'number' ? { ms: read, exact: true } : read).toEqual({ ms, exact: isExact });
});

it('a text is no time if it is ambiguous, a "no value", or of a year that some readers cannot hold', () => {
  const texts = `
    0001-01-01T00:00:00Z 0001-01-01T00:00:00.0000000Z 0001-01-01T00:00:00+01:00 0001-01-01T00:00:00-05:00
    0001-01-01T00:30:00+01:00 0000-12-31T23:00:00Z 0000-12-31T23:00:00-05:00 0000-06-01T08:00:00.000Z
    9999-12-31T23:59:59-01:00 9999-12-31T23:59:59.9999999-00:01 2026-03-04 2026-03-04T08:00:00
    2026-03-04T08:00:00.000 2026-02-29T08:00:00Z 2026-13-01T08:00:00Z 2026-00-01T08:00:00Z 2026-03-00T08:00:00Z
    2026-03-04T24:00:00Z 2026-03-04T08:60:00Z 2026-03-04T08:00:60Z 2026-03-04T08:00:00+24:00
    +002026-03-04T08:00:00Z 2026/03/04T08:00:00Z 2026-03-04T08:00:00.12xZ 2026-03-04T08:00:00.xxxZ 1772611200000`;
  for (const text of ['', ' 2026-03-04T08:00:00Z', ...texts.trim().split(/\s+/)])
    expect([text, parseTimestamp(text)]).toEqual([text, null]);
});

it('every date of the years 1 to 9999 is read as itself, and no other text is taken for a date', () => {
  for (let day = -719_161; day <= 2_932_896; day += 13)
    if (parseDate(new Date(day * 86_400_000).toISOString().slice(0, 10)) !== day) expect.fail(`day ${day}`);
  const others = '2026-02-29 2026-04-31 2026-13-01 2026-3-4 20260304 2026-03-04T00:00:00Z yyyy-mm-dd';
  for (const text of ['', '0000-12-31', '0001-01-01', ...others.split(' ')])
    expect([text, parseDate(text)]).toEqual([text, NaN]);
});

it('a time that programs write for "no value" is distinguished from all other times', () => {
  const nothing = `0001-01-01T00:00:00 0001-01-01T00:00:00.0000000 0001-01-01T00:00:00+01:00 0001-01-01T00:00:00-05:00
    0001-01-01T05:00:00Z 0001-01-01 0000-12-31T23:00:00Z`;
  for (const text of ['0000-00-00 00:00:00', ...nothing.split(/\s+/)])
    expect([text, isNoTime(text)]).toEqual([text, true]);
  for (const text of ['', '0001-01-02T00:00:00Z', '0001-01-01yes', '1900-01-01T00:00:00Z', 0, null])
    expect([text, isNoTime(text)]).toEqual([text, false]);
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDurationMs } from '../../../src/config/fields.ts';

describe('durations', () => {
  it.each([
    ['0ms', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each([
    '',
    '5',
    's',
    '5 s',
    '-5s',
    '1.5h',
    '5S',
    '5min',
    '1h30m',
    '５s',
    '600000000d',
    '9999999999999999s',
    ' 5s',
    '5s\n',
  ])('%j is no duration', (text) => {
    expect(parseDurationMs(text)).toBeNull();
  });

  it('every duration is an integer that a number can hold, or refused', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{1,20}(ms|s|m|h|d)$/), (text) => {
        const ms = parseDurationMs(text);
        expect(ms === null || Number.isSafeInteger(ms)).toBe(true);
      }),
    );
  });
});

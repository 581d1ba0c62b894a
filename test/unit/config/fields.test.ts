import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseDurationMs } from '../../../src/config/fields.ts';

it.each([
  ['0ms', 0],
  ['250ms', 250],
  ['90s', 90_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['30d', 2_592_000_000],
])('the duration %s is %d ms', (text, ms) => {
  expect(parseDurationMs(text)).toBe(ms);
});

it('what is no duration, or longer than a number can hold, is refused', () => {
  const texts = '5|s|5 s|-5s|1.5h|5S|5min|1h30m|５s|600000000d|9999999999999999s| 5s|5s\n|'.split('|');
  for (const text of texts) expect([text, parseDurationMs(text)]).toEqual([text, null]);
  const isInteger = (ms: number | null) => ms === null || Number.isSafeInteger(ms);
  const durations = fc.stringMatching(/^\d{1,20}(ms|s|m|h|d)$/);
  fc.assert(fc.property(durations, (text) => isInteger(parseDurationMs(text))));
});

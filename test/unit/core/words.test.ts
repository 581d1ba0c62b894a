import { expect, it } from 'vitest';
import { countOf, formatDuration, printable } from '../../../src/core/words.ts';

it.each([
  [-5_000, '0 s'],
  [0, '0 s'],
  [119_999, '119 s'],
  [120_000, '2 min'],
  [7_199_999, '119 min'],
  [7_200_000, '2 h'],
  [47 * 3_600_000, '47 h'],
  [48 * 3_600_000, '2 d'],
])('a duration of %i ms is printed as %s', (ms, expected) => {
  expect(formatDuration(ms)).toBe(expected);
});

it('a count is printed with its noun, in singular or plural', () => {
  expect([0, 1, 12_345].map((count) => countOf(count, 'row'))).toEqual(['no rows', '1 row', '12,345 rows']);
});

it('text from outside loses its control characters', () => {
  expect(printable('a\u001B[2Jb\r\nc\u009Bd\u202Ee')).toBe('a\uFFFD[2Jb\uFFFD\uFFFDc\uFFFDd\uFFFDe');
  expect(printable('Ærlig|æøå-1')).toBe('Ærlig|æøå-1');
});

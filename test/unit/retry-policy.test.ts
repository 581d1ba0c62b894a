import { expect, it } from 'vitest';
import { jitteredPauseMs, pauseMs } from '../../src/backoff.ts';

const backoff = { firstMs: 100, longestMs: 1_000 };

it('the pause before the next attempt doubles with each failure in a row, up to the longest', () => {
  expect([1, 2, 3, 4, 5, 5_000].map((failures) => pauseMs(backoff, failures))).toEqual([
    100, 200, 400, 800, 1_000, 1_000,
  ]);
});

it('the pause before the next attempt is, with jitter, between half and all of its usual length', () => {
  expect(jitteredPauseMs(backoff, 3, () => 0)).toBe(200);
  expect(jitteredPauseMs(backoff, 3, () => 0.5)).toBe(300);
  expect(jitteredPauseMs(backoff, 3, () => 1)).toBe(400);
});

import { expect, it } from 'vitest';
import { resultsOf } from '../../../bench/lines.ts';
import { readOptions } from '../../../bench/options.ts';
import type { PartNumbers } from '../../../bench/parts.ts';
import { childSeconds } from '../../../bench/timed-process.ts';

const RUN = { rows: 1_000, rounds: 3, loadAtStart: 1.25, only: [] };

function pagesWith(times: number): PartNumbers {
  const spread = { min: times / 2, median: times, max: times * 2 };
  return { pages: { rows: 1_000, firstTimes: spread, unchangedTimes: spread } };
}

it('the benchmark judges only lines that were measured, by their median and their target', () => {
  const verdicts = (times: number) => resultsOf(pagesWith(times), RUN).map(({ verdict }) => verdict);
  expect([verdicts(7), verdicts(6.9)]).toEqual([
    ['met', null],
    ['falls short', null],
  ]);
  expect(resultsOf({}, RUN)).toEqual([]);
  const named = resultsOf(pagesWith(7), { ...RUN, only: ['pages-first'] });
  expect(named.map(({ name }) => name)).toEqual(['pages-first']);
  expect(() => readOptions(['--only', 'unchnaged'])).toThrow('there is no line unchnaged');
});

it('the benchmark divides the CPU time of each round by that of the same round of the best peer', () => {
  const pull = (...cpuSeconds: number[]) => ({
    cpuSeconds,
    peakMiB: cpuSeconds.map((seconds) => seconds * 100),
    rowsPerSecond: { min: 1, median: 1, max: 1 },
    entries: 1,
  });
  const peers: PartNumbers['peers'] = {
    rows: 1_000,
    floorSeconds: { min: 1, median: 1, max: 1 },
    measured: {
      rollcall: { first: pull(2, 8), unchanged: pull(3, 3) },
      'connect-safe': { first: pull(4, 4), unchanged: pull(8, 10) },
      dlt: { first: pull(1, 1), unchanged: pull(10, 4) },
    },
    runningSeconds: [1, 1],
    skipped: { 'connect-stock': 'it was not built' },
  };
  expect(resultsOf({ peers }, RUN).map(({ name, value }) => [name, value.min, value.max])).toEqual([
    ['peers-first', 0.5, 2],
    ['peers-peak', 0.5, 2],
    ['peers-unchanged', 0.125, 0.25],
  ]);
  expect(childSeconds('0m0.00s 0m0.01s\n1m2.50s 0m1.25s\n')).toBe(63.75);
});

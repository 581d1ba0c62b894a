import { describe, expect, it } from 'vitest';
import { LINES, resultsOf } from '../../../bench/lines.ts';
import { readOptions } from '../../../bench/options.ts';
import type { PartNumbers } from '../../../bench/parts.ts';
import { lineCells, markdownTable, textTable } from '../../../bench/tables.ts';
import { childSeconds } from '../../../bench/timed-process.ts';

const RUN = { rows: 1_000, rounds: 3, loadAtStart: 1.25, only: [] };

function pagesWith(times: number): PartNumbers {
  const spread = (value: number) => ({ min: value / 2, median: value, max: value * 2 });
  return { pages: { rows: 1_000, firstTimes: spread(times), unchangedTimes: spread(times) } };
}

describe('the lines of the benchmark', () => {
  it('have a verdict by their median and target, and those without a target have none', () => {
    const verdicts = (times: number) => resultsOf(pagesWith(times), RUN).map(({ verdict }) => verdict);
    expect(verdicts(7)).toEqual(['met', null]);
    expect(verdicts(6.9)).toEqual(['falls short', null]);
  });

  it('are left out when their part was not measured or they were not asked for', () => {
    expect(resultsOf({}, RUN)).toEqual([]);
    const named = resultsOf(pagesWith(7), { ...RUN, only: ['pages-first'] });
    expect(named.map(({ name }) => name)).toEqual(['pages-first']);
  });

  it('allow more memory for more rows, but hardly', () => {
    const peak = LINES.find(({ name }) => name === 'peak');
    expect([100_000, 1_000_000, 5_000_000].map((rows) => peak?.target(rows))).toEqual([180, 200, 220]);
  });

  it('say in both tables what was measured, what it is to be and under which load', () => {
    const results = resultsOf(pagesWith(6.9), RUN);
    for (const table of [textTable(lineCells(results)), markdownTable(lineCells(results))]) {
      expect(table).toContain('6.9 (3.5–13.8) ×');
      expect(table).toContain('≥ 7 ×');
      expect(table).toContain('falls short');
      expect(table).toContain('1,000, 3, 1.3');
    }
  });
});

describe('the options of the benchmark', () => {
  it('name an unknown line instead of measuring nothing', () => {
    expect(() => readOptions(['--only', 'unchnaged'])).toThrow('there is no line unchnaged');
  });

  it('measure several lines when they are named', () => {
    expect(readOptions(['--only', 'unchanged', '--only', 'pages'])?.only).toEqual(['unchanged', 'pages']);
  });
});

describe('the comparison with peers', () => {
  it('divides the CPU time of each round by that of the same round, and by the best peer where one is the measure', () => {
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
    const results = resultsOf({ peers }, RUN);
    expect(results.map(({ name, value }) => [name, value.min, value.max])).toEqual([
      ['peers-first', 0.5, 2],
      ['peers-peak', 0.5, 2],
      ['peers-unchanged', 0.125, 0.25],
    ]);
  });

  it('counts the time of a command as its shell does', () => {
    expect(childSeconds('0m0.00s 0m0.01s\n1m2.50s 0m1.25s\n')).toBe(63.75);
    expect(childSeconds('0m0.000s 0m0.010s\n0m2.500s 0m1.250s\n')).toBe(3.75);
  });
});

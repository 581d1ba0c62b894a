import { describe, expect, it } from 'vitest';
import { LINES, resultsOf } from '../../../bench/lines.ts';
import { linesAsMarkdown, linesAsText } from '../../../bench/lines-table.ts';
import { readOptions } from '../../../bench/options.ts';
import type { PartNumbers } from '../../../bench/parts.ts';

const RUN = { rows: 1_000, rounds: 3, loadAtStart: 1.25, only: [] };

function pagesWith(times: number): PartNumbers {
  const spread = (value: number) => ({ min: value / 2, median: value, max: value * 2 });
  const each = { severalPerSecond: spread(times), onePerSecond: spread(1), times: spread(times) };
  return { pages: { rows: 1_000, first: each, unchanged: each } };
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
    for (const table of [linesAsText(results), linesAsMarkdown(results)]) {
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

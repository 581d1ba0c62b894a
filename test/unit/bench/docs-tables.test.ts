import { describe, expect, it } from 'vitest';
import { withTables } from '../../../bench/tables.ts';
import { resultsOf } from '../../../bench/lines.ts';
import type { BenchNumbers } from '../../../bench/run.ts';

function numbersWith(delay: number): BenchNumbers {
  const parts = { delay: { p50: delay, p99: delay, records: 100 } };
  const lines = resultsOf(parts, { rows: 1_000, rounds: 1, loadAtStart: 0.5, only: ['delay-p50'] });
  return { node: 'v24', cpu: 'some', cores: 2, loadAtStart: 0.5, lines, parts, growth: [] };
}

const PAGE = 'Before.\n\n<!-- lines -->\n<!-- /lines -->\n\nAfter.\n';

describe('the tables of the page on performance', () => {
  it('are replaced in their place by those of a new measurement, and nothing else is', () => {
    const once = withTables(PAGE, numbersWith(12));
    expect(once).toMatch(
      /^Before\.\n\n<!-- lines -->\n\n\| line .*\| 12 ms .*\n\n<!-- \/lines -->\n\nAfter\.\n$/s,
    );
    expect(withTables(once, numbersWith(34))).toBe(withTables(PAGE, numbersWith(34)));
  });

  it('are not lost silently when the page has no place for them', () => {
    expect(() => withTables('Before.\n', numbersWith(12))).toThrow('<!-- lines -->');
  });
});

import { describe, expect, it } from 'vitest';
import { ProgressBars } from '../../../src/cli/progress-bars.ts';
import { createProgressLine } from '../../../src/cli/progress-line.ts';
import { newSyncStats } from '../../../src/pipeline/sync-stats.ts';

/** Bars over 4 collections on a clock that a test moves by `ms`, and what the stream got last. */
function world(isTTY: boolean) {
  let nowMs = 0;
  let last = '';
  let all = '';
  const stream = {
    isTTY,
    columns: 100,
    write(text: string) {
      last = text;
      all += text;
    },
  };
  const line = createProgressLine({ stream, nowMs: () => nowMs });
  const bars = new ProgressBars(line, { title: 'north', expected: 4, nowMs: () => nowMs });
  const page = (rowsSeen: number, totalAtStart: number | null, mode: 'FULL' | 'DELTA' = 'FULL') => {
    const stats = { ...newSyncStats({ passId: 'p', mode, startedAtMs: 0 }), rowsSeen, totalAtStart };
    const tally = {
      unchanged: 0,
      created: 0,
      updated: 0,
      rejected: 0,
      stale: 0,
      repeated: 0,
      seen: 0,
      withoutId: 0,
    };
    bars.note({ type: 'pass-page', collection: 'users', stats, tally });
  };
  return {
    bars,
    line,
    page,
    after: (ms: number, work: () => void): string => {
      nowMs += ms;
      work();
      return last;
    },
    all: () => all,
  };
}

describe('progress over several collections', () => {
  it('without a terminal is one plain line with totals and remaining times', () => {
    const { after, page, bars } = world(false);
    after(0, () => page(0, 1_000));
    after(5_000, () => page(100, 1_000));
    const text = after(5_000, () => page(250, 1_000));
    expect(text).toBe('north: 0 of 4, about 2 min left · users 250 of 1,000, 25 %, 30 s left\n');
    expect(after(5_000, () => bars.end('users'))).toBe('north: 1 of 4, about 45 s left\n');
  });

  it('on a terminal has a bar for the total and for each collection, and is erased at the end', () => {
    const { after, page, line, all } = world(true);
    after(0, () => page(0, 1_000));
    const text = after(10_000, () => page(500, 1_000));
    const rows = text.split('\u001B[2K');
    expect(rows.at(-2)).toBe('north  ███░░░░░░░░░░░░░░░░░░░░░  0 of 4, about 70 s left\n\r');
    expect(rows.at(-1)).toBe('  users  ████████████░░░░░░░░░░░░  500 of 1,000, 50 %, 10 s left');
    line.end();
    expect(all().endsWith('\r\u001B[2K\u001B[1A\r\u001B[2K')).toBe(true);
  });

  it('claims no total where none is known: an incremental sync, or a hub that does not count', () => {
    const { after, page } = world(false);
    expect(after(0, () => page(70, 1_000, 'DELTA'))).toBe('north: 0 of 4 · users 70\n');
    expect(after(5_000, () => page(90, null))).toBe('north: 0 of 4 · users 90\n');
  });

  it('follows the work of another process by what it has done', () => {
    const { after, bars } = world(false);
    expect(after(6_000, () => bars.endElsewhere(3))).toBe('north: 3 of 4, about 2 s left\n');
  });
});

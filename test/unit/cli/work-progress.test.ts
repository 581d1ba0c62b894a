import { expect, it } from 'vitest';
import { createProgressLine } from '../../../src/cli/progress-line.ts';
import { WorkProgress } from '../../../src/cli/work-progress.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';

/** Progress of 4 collections on a clock that a test moves by `ms`, and what the stream got last. */
function world() {
  let nowMs = 0;
  let last = '';
  const stream = { write: (text: string) => (last = text) };
  const line = createProgressLine({ stream, nowMs: () => nowMs });
  const progress = new WorkProgress(line, { title: 'north', expected: 4 });
  const page = (rowsSeen: number, totalAtStart: number | null, mode: 'FULL' | 'INCREMENTAL' = 'FULL') => {
    const none = { unchanged: 0, created: 0, updated: 0, rejected: 0, stale: 0 };
    const tally = { ...none, repeated: 0, seen: 0, withoutId: 0, over: 0 };
    const stats = { ...newSyncStats({ syncId: 'p', mode, startedAtMs: 0 }), rowsSeen, totalAtStart };
    progress.note({ type: 'sync-page', collection: 'users', stats, tally });
  };
  return {
    progress,
    page,
    after: (ms: number, work: () => void): string => {
      nowMs += ms;
      work();
      return last;
    },
  };
}

it('progress says how many collections are done, and how far the others are', () => {
  const { after, page, progress } = world();
  after(0, () => page(0, 1_000));
  const text = after(10_000, () => page(250, 1_000));
  expect(text).toBe('north: 0 of 4 · users 250 of 1,000, 25 %\n');
  expect(after(5_000, () => progress.end('users'))).toBe('north: 1 of 4\n');
});

it('progress claims no total where none is known: an incremental sync, or a hub that does not count', () => {
  const { after, page } = world();
  expect(after(0, () => page(70, 1_000, 'INCREMENTAL'))).toBe('north: 0 of 4 · users 70\n');
  expect(after(5_000, () => page(90, null))).toBe('north: 0 of 4 · users 90\n');
});

it('progress of another process is what it has done', () => {
  const { after, progress } = world();
  expect(after(6_000, () => progress.endElsewhere(3))).toBe('north: 3 of 4\n');
});

import { expect, it, onTestFinished, vi } from 'vitest';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { logFirstLoads } from '../../../src/telemetry/log-first-loads.ts';
import { unchangedRows } from '../../../src/core/rows/compare-with-published.ts';
import { ANSWERED, boardOf, caughtUp, loaded } from './support/board-of.ts';
import { capturedLog } from './support/captured-log.ts';

it('a first load is logged every half minute while it goes on, and not once it is over', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { board, emit } = boardOf(0, ['users']);
  const { logger, messages } = capturedLog();
  using _ = logFirstLoads(board, logger);
  const page = (rowsSeen: number): void => {
    const began = newSyncStats({ syncId: 'f', mode: 'FULL', startedAtMs: 0 });
    const stats = { ...began, rowsSeen, totalAtStart: 20 };
    emit({ type: 'sync-page', collection: 'users', stats, tally: unchangedRows(rowsSeen), rows: rowsSeen });
  };
  emit({ type: 'owned', owner: 'vm-1' }, caughtUp('users', null), { type: 'session-opened' }, ANSWERED);
  emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
  for (const rowsSeen of [4, 9, 9]) {
    page(rowsSeen);
    vi.advanceTimersByTime(30_000);
  }
  emit(caughtUp('users', loaded('users', 0)));
  vi.advanceTimersByTime(30_000);
  expect(messages()).toEqual([
    'loading: 4 of some 20 rows read, 0 of 1 collection complete',
    'loading: 9 of some 20 rows read, 0 of 1 collection complete',
  ]);
});

import { expect, it } from 'vitest';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { logFirstLoads } from '../../../src/telemetry/log-first-loads.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { unchangedRows } from '../../../src/core/rows/compare-with-published.ts';
import { ANSWERED, boardOf, caughtUp, loaded } from './support/board-of.ts';

it('a first load is logged every half minute while it goes on, and not once it is over', async () => {
  const { board, emit } = boardOf(0, ['users']);
  const ending = new AbortController();
  const said: string[] = [];
  const page = (rowsSeen: number): void => {
    const stats = {
      ...newSyncStats({ syncId: 'f', mode: 'FULL', startedAtMs: 0 }),
      rowsSeen,
      totalAtStart: 20,
    };
    emit({ type: 'sync-page', collection: 'users', stats, tally: unchangedRows(rowsSeen), rows: rowsSeen });
  };
  const begin = (): void => {
    emit({ type: 'owned', owner: 'vm-1' }, caughtUp('users', null), { type: 'session-opened' }, ANSWERED);
    emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    page(4);
  };
  const steps = [begin, () => page(9), () => undefined, () => emit(caughtUp('users', loaded('users', 0)))];
  await logFirstLoads(board, {
    logger: createLogger({
      level: 'info',
      destination: { write: (line) => void said.push((JSON.parse(line) as { msg: string }).msg) },
    }),
    signal: ending.signal,
    async sleep(ms) {
      expect(ms).toBe(30_000);
      const step = steps.shift();
      if (step === undefined) ending.abort();
      else step();
    },
  });
  expect(said).toEqual([
    'loading: 4 of some 20 rows read, 0 of 1 collection complete',
    'loading: 9 of some 20 rows read, 0 of 1 collection complete',
  ]);
});

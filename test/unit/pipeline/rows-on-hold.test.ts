import { expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { Deletions } from '../../../src/table/deletions.ts';
import { onHoldIn } from '../telemetry/support/board-of.ts';

it('while rows of a hold come back, the log counts exactly the rows that are still on the list', async () => {
  const memory = createMemoryStore().tenant('north').deletions;
  const keys = new Map(['a', 'b', 'c'].map((key) => [key, { sinceMs: 1, times: 1 }]));
  await memory.setMissing('users', { syncId: 's', confirmAtMs: null, confirmsAll: false, keys });
  let progress = onHoldIn('users', 3, { why: 'all of them are missing' });
  const deletions = await Deletions.open(memory, 'users', progress);
  const afterSeeing = async (...seen: string[]) => {
    deletions.noteSeen(seen);
    const { decisions: _, ...recorded } = await deletions.beforeCommit(`tx-${seen.length}`, null);
    progress = { ...progress, ...recorded };
    await deletions.afterCommit(progress, null);
    const { collections } = await readWaiting(memory, new Map([['users', progress]]));
    return [progress.rowsOnHold, ...collections.map(({ count, why }) => `${count}: ${why}`)];
  };
  expect(await afterSeeing('x')).toEqual([3, '3: all of them are missing']);
  expect(await afterSeeing('a', 'b')).toEqual([1, '1: the other missing rows are back']);
  expect(await afterSeeing('a', 'b', 'c')).toEqual([0, '0: the other missing rows are back']);
  expect(deletions.onHoldSinceMs).not.toBeNull();
});

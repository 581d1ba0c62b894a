import { expect, it } from 'vitest';
import type { Missing } from '../../../src/core/deletions/missing.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { MissingRows } from '../../../src/table/missing-rows.ts';

const keys = new Map(['a', 'b'].map((key) => [key, { sinceMs: 1, times: 1 }]));
const remembered: Missing = { syncId: 'full-1', confirmAtMs: null, confirmsAll: false, keys };

async function opened(settledBy: string) {
  const memory = createMemoryStore().tenant('north').deletions;
  await memory.setMissing('users', remembered);
  const missing = await MissingRows.open(memory, 'users', settledBy);
  missing.noteSeen(['a', 'x']);
  return { memory, missing };
}

it('rows that came back leave what is left under the id of the transaction: what an older Redis remembers is void', async () => {
  const { memory, missing } = await opened('full-1');
  expect(await missing.dropSeen('tx-2', 'full-1')).toBe('tx-2');
  const after = await MissingRows.open(memory, 'users', 'tx-2');
  expect([...(after.keys ?? [])].map(([key]) => key)).toEqual(['b']);
  await memory.setMissing('users', remembered);
  expect((await MissingRows.open(memory, 'users', 'tx-2')).keys).toBeNull();
});

it('rows that came back leave what is left to a session after a commit that failed', async () => {
  const { memory, missing } = await opened('full-1');
  await missing.dropSeen('tx-2', 'full-1');
  const after = await MissingRows.open(memory, 'users', 'full-1');
  expect([...(after.keys ?? [])].map(([key]) => key)).toEqual(['b']);
  after.noteSeen(['b']);
  expect(await after.dropSeen('tx-3', 'full-1')).toBe('tx-3');
});

it('rows that came back name nothing where the log names a sync whose missing rows are not remembered yet', async () => {
  const { missing } = await opened('full-1');
  expect(await missing.dropSeen('tx-2', 'full-2')).toBeNull();
  expect([...(missing.keys ?? [])].map(([key]) => key)).toEqual(['b']);
});

it('rows that come back while the others leave are not forgotten', async () => {
  const { missing } = await opened('full-1');
  const dropping = missing.dropSeen('tx-2', 'full-1');
  missing.noteSeen(['b']);
  await dropping;
  expect(missing.has('b')).toBe(false);
});

it('a list that Redis lost stays void when a backup brings it back', async () => {
  const memory = createMemoryStore().tenant('north').deletions;
  const missing = await MissingRows.open(memory, 'users', 'full-1');
  missing.noteSeen(['a']);
  expect(await missing.dropSeen('tx-2', 'full-1')).toBe('tx-2');
  expect(await missing.dropSeen('tx-3', 'tx-2')).toBeNull();
  await memory.setMissing('users', remembered);
  expect((await MissingRows.open(memory, 'users', 'tx-2')).keys).toBeNull();
});

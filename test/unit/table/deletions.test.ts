import { expect, it } from 'vitest';
import type { Missing } from '../../../src/core/deletions/decide-missing.ts';
import type { DeletionMemory } from '../../../src/state/index-store.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { Deletions } from '../../../src/table/deletions.ts';

const keys = new Map(['a', 'b'].map((key) => [key, { sinceMs: 1, times: 1 }]));
const remembered: Missing = { syncId: 'full-1', confirmAtMs: null, confirmsAll: false, keys };

/** What the log holds, where it names a sync or a transaction. */
const naming = (settledBy: string) => ({
  rowsOnHold: 0,
  deletions: { settledBy, day: '2026-03-02', removed: 0, onHoldSinceMs: null, why: null },
});
const open = (memory: DeletionMemory, settledBy: string) =>
  Deletions.open(memory, 'users', naming(settledBy));

async function opened(settledBy: string) {
  const memory = createMemoryStore().tenant('north').deletions;
  await memory.setMissing('users', remembered);
  const deletions = await open(memory, settledBy);
  deletions.noteSeen(['a', 'x']);
  return { memory, deletions };
}

/** What a transaction names in the middle of a sync. */
const namedBy = async (deletions: Deletions, transactionId: string) =>
  (await deletions.beforeCommit(transactionId, null)).deletions?.settledBy;

it('the list of missing rows gets a new id when rows are back, so that an older copy is void', async () => {
  const { memory, deletions } = await opened('full-1');
  expect(await namedBy(deletions, 'tx-2')).toBe('tx-2');
  const after = await open(memory, 'tx-2');
  expect([...(after.missing?.keys ?? [])].map(([key]) => key)).toEqual(['b']);
  await memory.setMissing('users', remembered);
  expect((await open(memory, 'tx-2')).missing).toBeNull();
});

it('a failed commit neither drops a row from the list of missing rows nor lists a returned row again', async () => {
  const { memory, deletions } = await opened('full-1');
  await deletions.beforeCommit('tx-2', null);
  const after = await open(memory, 'full-1');
  expect([...(after.missing?.keys ?? [])].map(([key]) => key)).toEqual(['b']);
  after.noteSeen(['b']);
  expect(await namedBy(after, 'tx-3')).toBe('tx-3');
});

it('rows that are back give the list no new id while the log names a list that is not stored', async () => {
  const { deletions } = await opened('full-1');
  await deletions.afterCommit(naming('full-2'), null);
  expect(await namedBy(deletions, 'tx-2')).toBe('full-2');
  expect([...(deletions.missing?.keys ?? [])].map(([key]) => key)).toEqual(['b']);
});

it('a row that comes back during a commit is not taken for missing afterwards', async () => {
  const { deletions } = await opened('full-1');
  const committing = deletions.beforeCommit('tx-2', null);
  deletions.noteSeen(['b']);
  await committing;
  expect(deletions.has('b')).toBe(false);
});

it('a list of missing rows that Redis lost stays void when a backup brings it back', async () => {
  const memory = createMemoryStore().tenant('north').deletions;
  const deletions = await open(memory, 'full-1');
  deletions.noteSeen(['a']);
  expect(await namedBy(deletions, 'tx-2')).toBe('tx-2');
  await deletions.afterCommit(naming('tx-2'), null);
  expect(await namedBy(deletions, 'tx-3')).toBe('tx-2');
  await memory.setMissing('users', remembered);
  expect((await open(memory, 'tx-2')).missing).toBeNull();
});

it('a hold without a list, or with more rows than a list can hold, keeps its number of rows', async () => {
  const memory = createMemoryStore().tenant('north').deletions;
  const numberOf = async (rowsOnHold: number) => {
    const { deletions } = naming('full-1');
    const held = { rowsOnHold, deletions: { ...deletions, onHoldSinceMs: 1 } };
    const opened = await Deletions.open(memory, 'users', held);
    opened.noteSeen(['a']);
    return (await opened.beforeCommit('tx-2', null)).rowsOnHold;
  };
  expect(await numberOf(2)).toBe(2);
  await memory.setMissing('users', remembered);
  expect(await numberOf(100_001)).toBe(100_001);
});

it('rows that wait for the hold of another collection are counted as on hold only until they are back', async () => {
  const memory = createMemoryStore().tenant('north').deletions;
  const twice = new Map(['a', 'b', 'c'].map((key) => [key, { sinceMs: 1, times: 2 }]));
  await memory.setMissing('users', { ...remembered, keys: twice });
  const deletions = await Deletions.open(memory, 'users', { ...naming('full-1'), rowsOnHold: 3 });
  expect(await deletions.beforeCommit('tx-2', null)).toMatchObject({ rowsOnHold: 3 });
  deletions.noteSeen(['a', 'b']);
  expect(await deletions.beforeCommit('tx-3', null)).toMatchObject({ rowsOnHold: 1 });
});

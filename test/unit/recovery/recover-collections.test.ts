import { expect, test } from 'vitest';
import { recoverCollections } from '../../../src/recovery/recover-collections.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { madeProgress } from '../core/support/progress.ts';

test('an index that is lost while its rows are counted is not taken for an empty one', async () => {
  const state = createMemoryStore().tenant('north');
  const index = state.collection('users');
  const position = { sequence: 1, transactionId: 't1', committedAtMs: 0, offsets: {} };
  await index.apply(null, position, [{ area: 'rows', key: 'a', value: Buffer.alloc(16) }]);
  const tenant = {
    state,
    log: { ranges: () => Promise.resolve([]) },
    runtime: { now: () => 0 },
    emit: () => undefined,
  } as unknown as Tenant;
  const progress = madeProgress({ transactionId: 't1' });
  const recovered = () =>
    recoverCollections(tenant, ['users'], {
      ownership: { progress: new Map([['users', progress]]), transactionIds: new Map() },
      signal: new AbortController().signal,
    });
  expect((await recovered()).get('users')?.knownRows).toBe(1);

  const count = index.count.bind(index);
  index.count = async (area) => {
    await index.rebuild();
    return count(area);
  };
  await expect(recovered()).rejects.toMatchObject({ code: 'INDEX_DIVERGED' });
});

import { expect, it } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import { plainSource } from '../../../src/source/source.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { tenantReader } from '../../simulation/tenants/tenant-row.ts';
import { modelHub } from '../hub/support/model-hub.ts';
import { testHub } from '../hub/support/scripted-hub.ts';
import { madeCollection } from './support/made-collection.ts';

it('a page whose rows the hub hides keeps back no row behind it, and removes none', async () => {
  const ids = Array.from({ length: 100 }, (_, at) => String(100 + at));
  const hidden = ids.slice(60, 80).join(' ');
  const made = { version: 1, modifiedAtMs: 0, isReadable: true };
  const reader = { ...tenantReader, read: (row: object) => tenantReader.read({ ...row, ...made }) };
  const hub = { cursor: 'honours', idFilter: 'honours', links: 'right', total: 'none' } as const;
  await using test = await testHub(modelHub({ ...hub, ids, hidden }), { pageSize: 20 });
  const own = await madeCollection({
    commit: () => ({}),
    own: { source: plainSource(test.hub, collectionNamed('users'), reader) },
  });
  const { signal } = new AbortController();
  const created: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    const { kind, stats } = await runSync(own, 'FULL', { signal });
    expect([kind, stats.rowsNotFound, stats.rowsRemoved]).toEqual(['complete', 0, 0]);
    created.push(stats.rowsCreated);
  }
  expect(created).toEqual([80, 0, 0]);
});

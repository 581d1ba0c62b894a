import { expect, it } from 'vitest';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';
import { MadeHub } from './support/made-hub.ts';

const { signal } = new AbortController();

it("a full sync ends before it publishes another tenant's rows that begin on a later page", async () => {
  const made = new MadeHub(10);
  const put = (whose: string) => {
    for (let at = 10; at < 40; at += 1) made.put(`${whose}-${at}`, 1);
  };
  put('a');
  const all = new Map<'users', MirroredCollection>();
  const own = await made.session({ all });
  all.set('users', own);
  await runSync(own, 'FULL', { signal });
  made.amid = async () => {
    made.rows = new Map();
    put('foreign');
  };
  await expect(runSync(own, 'FULL', { signal })).rejects.toMatchObject({ code: 'HUB_FOREIGN_DATA' });
  expect([made.records.length, made.records.filter(({ key }) => key.startsWith('foreign'))]).toEqual([
    30,
    [],
  ]);
});

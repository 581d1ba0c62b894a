import { expect, it } from 'vitest';
import { withOffsets } from '../../../src/model/progress.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';
import { madeCollection } from './support/made-collection.ts';

const { signal } = new AbortController();

it("a full sync ends before it publishes another tenant's rows that begin on a later page", async () => {
  const published: string[] = [];
  let whose = 'own';
  async function* open() {
    for (const page of [1, 2]) {
      const rows = Array.from({ length: 10 }, (_, at) => {
        const key = `${whose}-${page}-${at}`;
        const decoded = { kind: 'row', sourcedId: key, value: {}, hash: Buffer.alloc(16, 1) } as const;
        return { key, rejectKey: key, decoded: { ...decoded, modifiedAtMs: null } };
      });
      yield { rows, hubTimeMs: 0, total: 20, readVersion: 0 };
      if (published.length === 20) whose = 'foreign';
    }
    return { reason: 'no-rows', paging: 'keyset', rows: 20, totalAtStart: 20, totalAtEnd: 20 } as const;
  }
  const all = new Map<'users', MirroredCollection>();
  const own = await madeCollection({
    commit: async ({ progress, records }) => {
      published.push(...records.map(({ key }) => key));
      return { progress: withOffsets(progress, {}), derived: [], committedAtMs: 0, tookMs: 0 };
    },
    own: {
      all,
      source: {
        begin: () => Promise.resolve({ scopes: new Set(['']), scans: () => [{ scope: '', open }] }),
        fetchRows: () => Promise.resolve([]),
        scopeOf: () => '',
      },
    },
  });
  all.set('users', own);
  await runSync(own, 'FULL', { signal });
  await expect(runSync(own, 'FULL', { signal })).rejects.toMatchObject({ code: 'HUB_FOREIGN_DATA' });
  expect([published.length, published.filter((key) => key.startsWith('foreign'))]).toEqual([20, []]);
});

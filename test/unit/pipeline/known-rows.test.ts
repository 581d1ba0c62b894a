import { expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { MadeHub } from './support/made-hub.ts';

it('a scan learns how many rows are published only once a full sync has read them all', async () => {
  const { signal } = new AbortController();
  const hub = new MadeHub(2);
  for (const id of ['a', 'b', 'c']) hub.put(id, 1);
  hub.amid = () => Promise.reject(new HubError('HUB_TIMEOUT', 'No answer', { remedy: 'Wait.' }));
  const first = await hub.session();
  await expect(runSync(first, 'FULL', { signal })).rejects.toMatchObject({ code: 'HUB_TIMEOUT' });
  expect(first.writer.known.rows).toBe(2);
  const own = await hub.session();
  for (const mode of ['FULL', 'FULL', 'INCREMENTAL'] as const) await runSync(own, mode, { signal });
  expect(hub.knownRows).toEqual([undefined, undefined, 3, 3]);
});

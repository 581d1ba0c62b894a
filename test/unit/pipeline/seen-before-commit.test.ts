import { expect, it, vi } from 'vitest';
import { runSync } from '../../../src/sync/run-sync.ts';
import { MadeHub } from './support/made-hub.ts';

const { signal } = new AbortController();

it('a row that another sync reads before a full sync that missed it commits is not among the missing', async () => {
  const made = new MadeHub(10);
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const id of ids) made.put(id, 1);
  const own = await made.session();
  await runSync(own, 'FULL', { signal });
  made.rows = new Map([...made.rows].filter(([id]) => id !== 'a' && id !== 'b'));
  const flush = own.writer.flush.bind(own.writer);
  vi.spyOn(own.writer, 'flush').mockImplementationOnce(async (...asked) => {
    made.nowMs += 1_000;
    made.put('a', 1);
    await runSync(own, 'INCREMENTAL', { signal });
    await flush(...asked);
  });
  await runSync(own, 'FULL', { signal });
  expect([own.deletions.has('a'), own.deletions.has('b')]).toEqual([false, true]);
});

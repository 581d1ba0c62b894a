import { expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { watchTopics } from '../../../src/session/watch-topics.ts';
import type { CollectionWriter } from '../../../src/table/collection-writer.ts';
import type { Tenant } from '../../../src/table/tenant.ts';

const MINUTE_MS = 60_000;

it('a running process looks for lost records by itself, and names the topic that has lost them', async () => {
  const offsets = { 'p.t.users/0': 4, 'p.t.rejects/0': 7 };
  const ends = { users: 5, rejects: 0 };
  const tenant = {
    topicPrefix: 'p',
    tenantId: 't',
    runtime: { sleep: () => Promise.resolve() },
    log: {
      ranges: async (topics: readonly (keyof typeof ends)[]) =>
        topics.map((topic) => ({ topic, partitions: [{ low: 0, high: ends[topic] }] })),
    },
  } as unknown as Tenant;
  const writer = { committed: { offsets, firstOffsets: {} } } as unknown as CollectionWriter;
  const watching = watchTopics(tenant, new Map([['users', writer]]), new AbortController().signal);
  await expect(watching).rejects.toMatchObject({ code: 'KAFKA_RECORDS_LOST', topic: 'p.t.rejects' });
});

it('a right taken from a running process is named within ten minutes, and its return within one', async () => {
  const stop = new AbortController();
  const missing = new RollcallError('KAFKA_REFUSED', 'no right to read', { remedy: 'Grant it.' });
  let nowMs = 0;
  const found: [minute: number, text: string | null][] = [];
  const isDenied = (): boolean => nowMs > 12 * MINUTE_MS && nowMs < 23 * MINUTE_MS;
  await watchTopics(
    {
      runtime: {
        sleep: async (ms: number) => {
          nowMs += ms;
          if (nowMs > 35 * MINUTE_MS) stop.abort();
        },
      },
      log: { ranges: async () => [] },
      prepare: async () => {
        if (isDenied()) throw missing;
      },
      emit: ({ mismatch }: { mismatch: RollcallError | null }) =>
        found.push([nowMs / MINUTE_MS, mismatch && mismatch.message]),
    } as unknown as Tenant,
    new Map(),
    stop.signal,
  );
  const denied = [20, 21, 22].map((minute) => [minute, missing.message]);
  expect(found).toEqual([[10, null], ...denied, [23, null], [30, null]]);
});

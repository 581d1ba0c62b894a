import { expect, test } from 'vitest';
import type { LoggedRecord, TenantLog } from '../../../src/log/log.ts';
import { applyLog, type ApplyLogParts, type Behind } from '../../../src/pipeline/recovery/apply-log.ts';
import type { IndexReplay } from '../../../src/state/index-store.ts';

type OnBatch = Parameters<TenantLog['read']>[0]['onBatch'];

const NEVER = new AbortController().signal;

test('a batch is read while the index takes the one before it, and the index takes one at a time, in order', async () => {
  const index = slowIndex();
  let read = 0;
  const applied = applyLog(
    partsReading(async (onBatch) => {
      for (; read < 3; read += 1) await onBatch([recordOf(`key-${read}`)]);
    }),
    [behindWith(index.write)],
    NEVER,
  );
  await index.hasBegun(1);
  expect(read).toBe(1);
  expect(index.begun).toEqual(['key-0']);
  index.finish();
  await index.hasBegun(2);
  expect(read).toBe(2);
  index.finish();
  await index.hasBegun(3);
  let isApplied = false;
  void applied.then(() => (isApplied = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isApplied).toBe(false);
  index.finish();
  await applied;
  expect(index.begun).toEqual(['key-0', 'key-1', 'key-2']);
});

test('reading ends with the error of a batch that the index did not take, also of the last batch', async () => {
  for (const failing of [0, 1]) {
    let writes = 0;
    const write = async (): Promise<void> => {
      writes += 1;
      if (writes > failing) throw new Error('the index is away');
    };
    const applied = applyLog(
      partsReading(async (onBatch) => {
        for (const key of ['one', 'two']) await onBatch([recordOf(key)]);
      }),
      [behindWith(write)],
      NEVER,
    );
    await expect(applied).rejects.toThrow('the index is away');
    expect(writes).toBe(failing + 1);
  }
});

function slowIndex() {
  const begun: string[] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const write: IndexReplay['write'] = (changes) => {
    begun.push(...changes.map(({ key }) => key));
    const done = Promise.withResolvers<void>();
    pending.push(done);
    return done.promise;
  };
  return {
    begun,
    write,
    finish: () => pending.at(-1)?.resolve(),
    hasBegun: async (count: number) => {
      while (begun.length < count) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

function partsReading(read: (onBatch: OnBatch) => Promise<void>): ApplyLogParts {
  return {
    topicPrefix: 'edu',
    tenantId: 'north',
    log: { read: ({ onBatch }: { onBatch: OnBatch }) => read(onBatch) } as unknown as TenantLog,
    dayOf: () => '2026-11-23',
    runtime: { now: () => 0 },
    state: {
      deletions: { removedOn: () => Promise.resolve(new Map()), addRemoved: () => Promise.resolve() },
    },
  } as unknown as ApplyLogParts;
}

function behindWith(write: IndexReplay['write']): Behind {
  const replay = { write } as unknown as IndexReplay;
  return { collection: 'users', chains: null, readsChangelog: false, after: {}, replay };
}

function recordOf(key: string): LoggedRecord {
  const [offset, publishedAtMs] = [0, 0];
  const value = Buffer.from([0]);
  return {
    topic: 'users',
    partition: 0,
    offset,
    publishedAtMs,
    key,
    value,
    hash: null,
    firstSequence: null,
    mapping: null,
  };
}

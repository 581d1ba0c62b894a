import { expect, it, vi } from 'vitest';
import { sleep } from '../../../src/runtime.ts';
import { openMirror } from '../support/mirror.ts';
import { setTopicSettings, withAdmin } from '../support/stack-kafka.ts';

const MINUTE_MS = 60_000;
const { signal: NEVER } = new AbortController();

it('status names a topic that somebody altered until it is corrected, and keys keep their partitions', async () => {
  await using mirror = await openMirror({
    collections: ['users', 'orgs'],
    tenant: { incrementalEvery: '1s' },
    // A minute takes 100 ms.
    parts: ({ runtime }) => ({
      runtime: { ...runtime, sleep: (ms, signal) => sleep(ms === MINUTE_MS ? 100 : ms, signal) },
    }),
  });
  const topic = mirror.topic('users');
  const ready = async (is: 0 | 1) =>
    expect(await mirror.metricsText()).toContain(`rollcall_ready{tenant="north",part="kafka"} ${is}`);
  const shows = async (what: string): Promise<void> => {
    await vi.waitFor(() => expect(mirror.statusText()).toContain(what));
    expect(mirror.statusText()).toContain('kafka: Topics differ from the contract');
    await ready(0);
  };
  await mirror.full();
  await using _ = mirror.run();
  await vi.waitFor(() => expect(mirror.events).toContainEqual({ type: 'session-opened' }));
  await setTopicSettings(topic, { 'segment.ms': '604800000' });
  await shows('segment.ms is 604800000');
  await setTopicSettings(topic, { 'segment.ms': '86400000' });
  await vi.waitFor(() => expect(mirror.statusText()).not.toContain('segment.ms'));
  await ready(1);

  await withAdmin((admin) => admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] }));
  await shows('it has 6 partitions, but the configuration says 3');
  expect(mirror.statusText()).toContain('rollcall topics recreate users --tenant north --yes');
  expect(mirror.logLines.some((line) => line.includes('KAFKA_TOPIC_MISMATCH'))).toBe(true);
  // A reader that counts the partitions must not change those that are written to.
  const from = [{ topic: 'users', after: {} }] as const;
  await mirror.parts.log.read({ from, onBatch: () => Promise.resolve(), signal: NEVER });
  const { district } = mirror.hub;
  for (const id of district.ids('users')) district.patch('users', id, { givenName: 'Somebody Else' });
  await vi.waitFor(async () => expect(await mirror.differences('users')).toEqual({}), { interval: 500 });
  const records = await mirror.records('users');
  expect(new Set(records.map(({ partition }) => partition))).toEqual(new Set([0, 1, 2]));
  expect(mirror.events.map(({ type }) => type)).not.toContain('session-failed');
});

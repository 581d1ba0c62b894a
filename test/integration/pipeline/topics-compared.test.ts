import { describe, expect, it, vi } from 'vitest';
import { TenantRun } from '../../../src/worker/worker.ts';
import { sleep } from '../../../src/runtime.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { withAdmin } from './kafka-admin.ts';
import { setTopicSettings } from './recreate-topic.ts';

const MINUTE_MS = 60_000;
/** A minute takes 100 ms. */
const OPTIONS = {
  collections: ['users', 'orgs'],
  parts: (parts) => ({
    runtime: {
      ...parts.runtime,
      sleep: (ms, signal) => sleep(ms === MINUTE_MS ? 100 : ms, signal),
    },
  }),
} as const satisfies Parameters<typeof openMirror>[0];

/** Runs the tenant while `work` does. */
async function running(mirror: Mirror, work: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const ended = new TenantRun(mirror.parts).mirror(stop.signal);
  try {
    await vi.waitFor(() => expect(mirror.events).toContainEqual({ type: 'session-opened' }), 20_000);
    await work();
  } finally {
    stop.abort();
    await ended;
  }
}

async function addPartitions(topic: string): Promise<void> {
  await withAdmin(async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] });
    await vi.waitFor(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      expect(topics[0]?.partitions.length).toBe(6);
    }, 10_000);
  });
}

async function expectShown(mirror: Mirror, what: string): Promise<void> {
  await vi.waitFor(() => expect(mirror.statusText()).toContain(what), 30_000);
  expect(mirror.statusText()).toContain('kafka: Topics differ from the contract');
  expect(await mirror.metricsText()).toContain('rollcall_ready{tenant="north",part="kafka"} 0');
  expect(mirror.logLines.some((line) => line.includes('KAFKA_TOPIC_MISMATCH'))).toBe(true);
}

describe('a topic that somebody changes while the process runs', () => {
  it('in a setting: status, metrics and log say so, until it is as it was', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    await running(mirror, async () => {
      const topic = mirror.topic('users');
      await setTopicSettings(topic, { 'segment.ms': '604800000' });
      await expectShown(mirror, 'segment.ms is 604800000');
      await setTopicSettings(topic, { 'segment.ms': '86400000' });
      await vi.waitFor(() => expect(mirror.statusText()).not.toContain('segment.ms'), 30_000);
      expect(await mirror.metricsText()).toContain('rollcall_ready{tenant="north",part="kafka"} 1');
    });
  });

  it('in its number of partitions: each key stays in its partition, whoever counts them again', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    await addPartitions(mirror.topic('users'));
    // a reader that counts the partitions must not change those that are written to
    await mirror.parts.log.read({
      from: [{ topic: 'users', after: {} }],
      onBatch: () => Promise.resolve(),
      signal: new AbortController().signal,
    });
    const { district } = mirror.hub;
    for (const id of district.ids('users')) district.patch('users', id, { givenName: 'Somebody Else' });
    await mirror.delta('users');
    const records = await mirror.records('users');
    expect(new Set(records.map(({ partition }) => partition))).toEqual(new Set([0, 1, 2]));
    expect(await mirror.differences('users')).toEqual({});
  });

  it('in its number of partitions: a running process shows it and goes on', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    await running(mirror, async () => {
      await addPartitions(mirror.topic('users'));
      await expectShown(mirror, 'it has 6 partitions, the configuration says 3');
      expect(mirror.statusText()).toContain('rollcall topics recreate users --tenant north --yes');
    });
    expect(mirror.events.map(({ type }) => type)).not.toContain('session-failed');
  });
});

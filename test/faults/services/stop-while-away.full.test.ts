import { describe, expect, inject, it, vi } from 'vitest';
import { startTestHub } from '../../integration/support/mirror.ts';
import { startOwnKafka } from '../support/own-kafka.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { startMirrored, type MirroredOptions } from './support/mirrored.ts';

const STOPS_WITHIN_MS = 30_000;

/** SIGTERM while a request waits for a part that does not answer; a later process then finds everything in order. */
async function stopsAmid(proxy: Proxy, options: MirroredOptions): Promise<void> {
  await using mirrored = await startMirrored(options);
  await mirrored.loaded();
  proxy.stall();
  mirrored.churn.step(20);
  const { child } = mirrored;
  await vi.waitUntil(() => proxy.held > 0, { timeout: 30_000 });
  const startedAtMs = performance.now();
  child.kill('SIGTERM');
  await child.endsWith(0);
  expect(performance.now() - startedAtMs).toBeLessThan(STOPS_WITHIN_MS);
  proxy.mend();
  await mirrored.start();
  await mirrored.heals();
}

describe.each(ROUNDS)(
  'round %i: SIGTERM ends a process with exit code 0 within 30 s while no answer comes',
  (seed) => {
    it.concurrent('from the hub', async () => {
      const hub = await startTestHub({ seed });
      await using proxy = await startProxy({ target: `127.0.0.1:${hub.port}` });
      await stopsAmid(proxy, { seed, hub, detours: { hub: proxy.address } });
    });

    it.concurrent('from Kafka', async () => {
      await using kafka = await startOwnKafka();
      const servers = { kafkaBrokers: kafka.brokers };
      await stopsAmid(kafka.proxy, { seed, servers, detours: { kafka: kafka.proxiedBrokers } });
    });

    it.concurrent('from Redis', async () => {
      await using proxy = await startProxy({ target: new URL(inject('stack').redisUrl).host });
      await stopsAmid(proxy, { seed, detours: { redis: proxy.address } });
    });
  },
);

import { describe, expect, inject, it } from 'vitest';
import { startTestHub } from '../../integration/support/mirror.ts';
import { startOwnKafka } from '../support/own-kafka.ts';
import { startProxy } from '../support/proxy.ts';
import { badWeather } from '../support/proxy-weather.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { startMirrored } from './support/mirrored.ts';

const WEATHER = { forMs: IS_FULL ? 120_000 : 20_000, longestMs: 3_000 };

describe.each(ROUNDS)('round %i', (seed) => {
  it(
    'the topics equal the hub after the connections to hub, Kafka, registry and Redis failed at random from the first start on',
    { timeout: 600_000 },
    async () => {
      const stack = inject('stack');
      const hub = await startTestHub({ seed });
      await using kafka = await startOwnKafka();
      await using hubProxy = await startProxy({ target: `127.0.0.1:${hub.port}` });
      await using registry = await startProxy({ target: new URL(stack.registryUrl).host });
      await using redis = await startProxy({ target: new URL(stack.redisUrl).host });
      await using mirrored = await startMirrored({
        seed,
        hub,
        hubTimeout: '3s',
        servers: { kafkaBrokers: kafka.brokers },
        detours: {
          hub: hubProxy.address,
          kafka: kafka.proxiedBrokers,
          registry: registry.address,
          redis: redis.address,
        },
      });
      {
        using _ = mirrored.churn.live(50);
        const proxies = { hub: hubProxy, kafka: kafka.proxy, registry, redis };
        const done = await badWeather(proxies, { seed, ...WEATHER });
        expect(done.length).toBeGreaterThan(WEATHER.forMs / WEATHER.longestMs / 2);
      }
      await mirrored.heals();
    },
  );
});

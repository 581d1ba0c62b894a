import { describe, inject, it } from 'vitest';
import { startTestHub } from '../../integration/support/mirror.ts';
import { startOwnKafka } from '../support/own-kafka.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';
import { begin, PROXY_TROUBLES, type ProxyTrouble } from '../support/proxy-weather.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { startMirrored, type Mirrored } from './support/mirrored.ts';

/** Nothing gets through until these are mended; Rollcall must cope with the others by itself. */
const SEVERING: ReadonlySet<ProxyTrouble> = new Set(['cut', 'stall']);

/** A broker that hangs looks the same as a stalled connection, and has a test of its own. */
const KAFKA_TROUBLES = PROXY_TROUBLES.filter((trouble) => IS_FULL || trouble !== 'stall');

/** Causes one kind of trouble after another on the connection to a part of the stack. */
async function strikeAll(
  mirrored: Mirrored,
  part: string,
  { proxy, troubles = PROXY_TROUBLES }: { proxy: Proxy; troubles?: readonly ProxyTrouble[] },
): Promise<void> {
  await mirrored.begun();
  {
    using _ = mirrored.churn.live(50);
    for (const trouble of troubles) {
      begin(proxy, trouble);
      if (SEVERING.has(trouble)) {
        await mirrored.notReady(part);
        proxy.mend();
      }
      await mirrored.ready();
      await mirrored.flows();
      proxy.mend();
    }
  }
  await mirrored.heals();
}

describe.each(ROUNDS)(
  'round %i: the topics equal the hub after cut, stalled, slow, half-open and reset connections',
  (seed) => {
    it.concurrent('to the hub', async () => {
      const hub = await startTestHub({ seed });
      await using proxy = await startProxy({ target: `127.0.0.1:${hub.port}` });
      await using mirrored = await startMirrored({
        seed,
        hub,
        hubTimeout: '5s',
        detours: { hub: proxy.address },
      });
      await strikeAll(mirrored, 'hub', { proxy });
    });

    it.concurrent('to Kafka', async () => {
      await using kafka = await startOwnKafka();
      await using mirrored = await startMirrored({
        seed,
        servers: { kafkaBrokers: kafka.brokers },
        detours: { kafka: kafka.proxiedBrokers },
      });
      await strikeAll(mirrored, 'kafka', { proxy: kafka.proxy, troubles: KAFKA_TROUBLES });
    });

    it.concurrent('to Redis', async () => {
      await using proxy = await startProxy({ target: new URL(inject('stack').redisUrl).host });
      await using mirrored = await startMirrored({ seed, detours: { redis: proxy.address } });
      await strikeAll(mirrored, 'redis', { proxy });
    });
  },
);

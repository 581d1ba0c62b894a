import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { startOwnKafka } from '../support/own-kafka.ts';
import { KAFKA_API } from '../support/proxy-kafka.ts';
import { startMirrored } from './support/mirrored.ts';
import { ROUNDS } from '../../run/rounds.ts';

/** Longer than Rollcall waits for an answer: the broker acts on the request after Rollcall has given it up. */
const HELD_MS = 20_000;

describe.each(ROUNDS)('round %i', (seed) => {
  it.concurrent.each(['produce', 'endTxn'] as const)(
    'a broker that hangs during %s and resumes later causes nothing to be published twice',
    async (api) => {
      await using kafka = await startOwnKafka();
      await using mirrored = await startMirrored({
        seed,
        servers: { kafkaBrokers: kafka.brokers },
        detours: { kafka: kafka.proxiedBrokers },
      });
      await mirrored.begun();
      {
        using _ = mirrored.churn.live(50);
        const apiKey = KAFKA_API[api];
        await kafka.proxy.at({ apiKey, when: 'sent' }, () => kafka.service.kill('SIGSTOP'));
        const held = delay(HELD_MS);
        await mirrored.notReady('kafka');
        await held;
        kafka.service.kill('SIGCONT');
        await mirrored.ready();
      }
      await mirrored.heals();
    },
  );
});

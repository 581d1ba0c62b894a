import { describe, expect, it } from 'vitest';
import { startOwnKafka } from '../support/own-kafka.ts';
import { KAFKA_API, type KafkaMoment } from '../support/proxy-kafka.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { startMirrored } from './support/mirrored.ts';

/** Whether the broker has acted on the request when it dies; its answer is lost either way. */
const MOMENTS: readonly { amid: string; apiKey: number; whens: readonly KafkaMoment['when'][] }[] = [
  { amid: 'a send', apiKey: KAFKA_API.produce, whens: IS_FULL ? ['sent', 'answered'] : ['sent'] },
  { amid: 'a commit', apiKey: KAFKA_API.endTxn, whens: IS_FULL ? ['sent', 'answered'] : ['answered'] },
];

describe.each(ROUNDS)('round %i', (seed) => {
  it.concurrent.each(MOMENTS)(
    'kill -9 of the broker during $amid loses nothing and causes nothing to be published twice',
    async ({ apiKey, whens }) => {
      await using kafka = await startOwnKafka();
      await using mirrored = await startMirrored({
        seed,
        servers: { kafkaBrokers: kafka.brokers },
        detours: { kafka: kafka.proxiedBrokers },
      });
      await mirrored.begun();
      {
        using _ = mirrored.churn.live(50);
        for (const when of whens) {
          await kafka.proxy.at({ apiKey, when }, () => {
            kafka.service.kill('SIGKILL');
            kafka.proxy.reset();
          });
          await mirrored.notReady('kafka');
          await kafka.service.restart();
          await mirrored.ready();
        }
      }
      await mirrored.heals();
      // The transaction, or the lease of the process, failed first.
      const failures = /KAFKA_OUTCOME_UNKNOWN|has not confirmed the membership/g;
      expect(mirrored.child.output().match(failures)?.length).toBeGreaterThanOrEqual(whens.length);
    },
  );
});

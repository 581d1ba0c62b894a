import { describe, expect, it, vi } from 'vitest';
import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import { highWatermarks } from '../../integration/support/high-watermarks.ts';
import { endOffsetsAt } from '../../integration/support/read-topics.ts';
import { startOwnKafka, type OwnKafka } from '../support/own-kafka.ts';
import { KAFKA_API } from '../support/proxy-kafka.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { startMirrored, type Mirrored } from './support/mirrored.ts';

const ASKED_MS = 60_000;
const GRANTED_MS = 4_000;

/** Asks the broker for a shorter time-out than Rollcall does, so that no test has to wait for a minute. */
function shortenTimeout(request: Buffer): void {
  const asked = Buffer.alloc(4);
  asked.writeInt32BE(ASKED_MS);
  const at = request.indexOf(asked);
  if (at === -1) throw new Error('the request holds no time-out of the expected length');
  request.writeInt32BE(GRANTED_MS, at);
}

/** Waits until the broker has aborted the hanging transaction: then nothing lies beyond the last stable offset. */
async function aborted(kafka: OwnKafka, { topicPrefix, churn }: Mirrored): Promise<void> {
  const servers = { kafkaBrokers: kafka.brokers, registryUrl: '' };
  const suffixes = [...churn.history.collections, ...DERIVED_COLLECTIONS, 'progress'];
  const topics = suffixes.map((suffix) => `${topicPrefix}.north.${suffix}`);
  const startedAtMs = performance.now();
  await vi.waitFor(
    async () => {
      const committed = await endOffsetsAt(servers, topics);
      expect(await highWatermarks(kafka.brokers, Object.keys(committed))).toEqual(committed);
    },
    { timeout: 30_000, interval: 100 },
  );
  // Otherwise no transaction hung.
  expect(performance.now() - startedAtMs).toBeGreaterThan(GRANTED_MS / 2);
}

describe.each(ROUNDS)('round %i', (seed) => {
  it.concurrent.each(['stopped between two sends', 'delayed in its commit'] as const)(
    'a process %s for longer than the time-out of a transaction commits nothing of it, and continues',
    async (how) => {
      await using kafka = await startOwnKafka();
      kafka.proxy.rewrite(KAFKA_API.initProducerId, shortenTimeout);
      await using mirrored = await startMirrored({
        seed,
        servers: { kafkaBrokers: kafka.brokers },
        detours: { kafka: kafka.proxiedBrokers },
      });
      await mirrored.begun();
      {
        using _ = mirrored.churn.live(50);
        const { child } = mirrored;
        if (how === 'delayed in its commit') {
          await kafka.proxy.at({ apiKey: KAFKA_API.endTxn, when: 'sent' }, () => aborted(kafka, mirrored));
        } else {
          await kafka.proxy.at({ apiKey: KAFKA_API.produce, when: 'answered' }, () => child.kill('SIGSTOP'));
          await aborted(kafka, mirrored);
          child.kill('SIGCONT');
        }
        await child.says('KAFKA_OUTCOME_UNKNOWN');
        await mirrored.ready();
        await mirrored.flows();
      }
      await mirrored.heals();
    },
  );
});

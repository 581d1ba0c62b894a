import {
  RequestFailure,
  type PartitionAnswer,
  type SealedBatch,
  type TopicPartitions,
  type TransactionBrokers,
} from '../../../src/log/transaction-brokers.ts';
import {
  TransactionalProducer,
  type AppendedBatch,
  type PartitionBatch,
  type TransactionalProducerOptions,
} from '../../../src/log/transactional-producer.ts';
import { partitionName } from '../../../src/model/topic-names.ts';
import { suffixOf } from '../../../src/recovery/topic-ends.ts';
import { contentOf, SimulatedBatch } from '../cluster/simulated-batch.ts';
import type { Broker } from '../tenants/broker.ts';
import { withOther } from '../parts/with-other.ts';
import { plantedIn } from './misuse.ts';

type Produce = TransactionBrokers['produce'];

/*
 * Ways in which a transactional producer on several brokers could double or lose records. Three more that come to mind do no
 * harm, because a leader recognises the same bytes by their sequence number: to repeat a batch while it is in flight, to
 * repeat an unanswered one within its transaction, and to repeat one at another leader that has been appended already. Nor
 * does an unanswered abort that is repeated: a batch or a commit that comes after the first one's late arrival is refused.
 */

export const PRODUCER_MISTAKES = plantedIn('users-restarts', [
  {
    name: 'a fenced process continues to write',
    kind: 'users-take-overs',
    finds: 'committed after it was superseded',
    producer: (options) => new NeverFenced(options),
  },
  {
    name: 'a repeated batch gets a new sequence number',
    finds: 'two records have one ce_id',
    trouble: 1,
    producer: (options) => numbering(options, 'new each time'),
  },
  {
    name: 'batches are repeated, under new numbers, while other brokers have not answered',
    finds: 'two records have one ce_id',
    trouble: 1,
    producer: (options) => numbering({ ...options, brokers: impatient(options.brokers) }, 'new each time'),
  },
  {
    name: 'the answers to a send are kept by broker, also across an election',
    finds: 'differs from the hub',
    trouble: 1,
    producer: (options, { broker }) => new AnsweredByBroker(options, broker),
  },
  {
    name: 'after an unanswered batch the sequence number goes back, and the producer is used again',
    finds: 'differs from the hub',
    trouble: 1,
    ownership: 'keeps its producer',
    producer: (options) => numbering(options, 'on once appended'),
  },
  {
    name: 'an unanswered batch is repeated after its transaction was given up',
    finds: 'published twice',
    trouble: 1,
    ownership: 'keeps its producer',
    producer: (options) => new TransactionalProducer({ ...options, brokers: repeatingLate(options.brokers) }),
  },
  {
    name: 'an unanswered commit is repeated, and the producer used again',
    finds: 'twice',
    trouble: 2,
    producer: (options) => new RepeatsCommits(options),
  },
  {
    name: 'partitions are not added to the transaction before the send',
    finds: 'the history did not end well',
    producer: (options) => new AddsOnlyProgress(options),
  },
]);

/** Has itself made the newest whenever it is not. */
class NeverFenced extends TransactionalProducer {
  override async begin(partitions: TopicPartitions): Promise<void> {
    try {
      await super.begin(partitions);
    } catch {
      await super.open();
      await super.begin(partitions);
    }
  }
}

class RepeatsCommits extends TransactionalProducer {
  override async commit(): Promise<void> {
    try {
      await super.commit();
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      await super.commit();
    }
  }
}

class AddsOnlyProgress extends TransactionalProducer {
  override begin(partitions: TopicPartitions): Promise<void> {
    return super.begin(new Map([...partitions].slice(-1)));
  }
}

/** Takes what a broker has answered to a send as its answer to whatever else this send asks it. */
class AnsweredByBroker extends TransactionalProducer {
  readonly #answered: Set<number>;

  constructor(options: TransactionalProducerOptions, broker: Broker) {
    const answered = new Set<number>();
    super({ ...options, brokers: answeringOnce(options.brokers, answered, broker) });
    this.#answered = answered;
  }

  override send(batches: readonly PartitionBatch[]): Promise<readonly AppendedBatch[]> {
    this.#answered.clear();
    return super.send(batches);
  }
}

function answeringOnce(
  brokers: TransactionBrokers,
  answered: Set<number>,
  broker: Broker,
): TransactionBrokers {
  const produce: Produce = async (node, request) => {
    if (answered.has(node))
      return request.batches.map(({ topic, partition }) => {
        const end = broker.partitionsOf(suffixOf(`${topic}/`))?.[partition]?.next ?? 0;
        return { topic, partition, error: null, baseOffset: end };
      });
    const answers = await brokers.produce(node, request);
    if (answers.some(({ error }) => error === null)) answered.add(node);
    return answers;
  };
  return withOther(brokers, { produce });
}

/** Where the next batch of a partition is counted on from: the last one that was sent, or the last that was appended. */
type Counting = 'new each time' | 'on once appended';

/** A producer whose batches are numbered otherwise. */
function numbering(options: TransactionalProducerOptions, counting: Counting): TransactionalProducer {
  const { brokers } = options;
  const next = new Map<string, number>();
  const renumbered = (batch: SealedBatch): SealedBatch => {
    const { owner, records } = contentOf(batch.bytes);
    const firstSequence = next.get(nameOf(batch)) ?? 0;
    if (counting === 'new each time') next.set(nameOf(batch), firstSequence + records.length);
    return { ...batch, bytes: new SimulatedBatch(records).seal({ ...owner, firstSequence }) };
  };
  const produce: Produce = async (node, request) => {
    const batches = request.batches.map(renumbered);
    const answers = await brokers.produce(node, { ...request, batches });
    if (counting === 'on once appended')
      for (const batch of batches) {
        const isOf = (each: PartitionAnswer): boolean => nameOf(each) === nameOf(batch);
        const { owner, records } = contentOf(batch.bytes);
        if (answers.find(isOf)?.error === null) next.set(nameOf(batch), owner.firstSequence + records.length);
      }
    return answers;
  };
  return new TransactionalProducer({ ...options, brokers: withOther(brokers, { produce }) });
}

/** As soon as one broker refuses a batch, the requests that others have not answered yet count as refused, too. */
function impatient(brokers: TransactionBrokers): TransactionBrokers {
  const waiting = new Set<() => void>();
  const produce: Produce = async (node, request) => {
    const refused = Promise.withResolvers<readonly PartitionAnswer[]>();
    const refuse = (): void =>
      refused.resolve(
        request.batches.map(({ topic, partition }) => ({
          topic,
          partition,
          error: 'REQUEST_TIMED_OUT',
          baseOffset: -1,
        })),
      );
    waiting.add(refuse);
    const asked = async (): Promise<readonly PartitionAnswer[]> => {
      try {
        const answers = await brokers.produce(node, request);
        if (answers.some(({ error }) => error !== null)) for (const each of waiting) each();
        return answers;
      } finally {
        waiting.delete(refuse);
      }
    };
    return Promise.race([asked(), refused.promise]);
  };
  return withOther(brokers, { produce });
}

/** Sends what stayed unanswered again with the next send, which is one of another transaction. */
function repeatingLate(brokers: TransactionBrokers): TransactionBrokers {
  let unanswered: Parameters<Produce> | null = null;
  const produce: Produce = async (node, request) => {
    const again = unanswered;
    unanswered = null;
    if (again !== null) await brokers.produce(...again).catch(() => undefined);
    try {
      return await brokers.produce(node, request);
    } catch (error) {
      if (isUnanswered(error)) unanswered = [node, request];
      throw error;
    }
  };
  return withOther(brokers, { produce });
}

function isUnanswered(error: unknown): boolean {
  return error instanceof RequestFailure && error.outcome === 'unanswered';
}

function nameOf({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return partitionName(topic, partition);
}

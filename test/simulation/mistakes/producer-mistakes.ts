import {
  RequestFailure,
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
    producer: numberingAnew,
  },
  {
    name: 'the answers to a send are kept by broker, also across an election',
    finds: 'differs from the hub',
    trouble: 1,
    producer: (options, { broker }) => new AnsweredByBroker(options, broker),
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

/** A producer that numbers each batch on from the last one that it sent, whether it was a repetition or not. */
function numberingAnew(options: TransactionalProducerOptions): TransactionalProducer {
  const { brokers } = options;
  const next = new Map<string, number>();
  const renumbered = (batch: SealedBatch): SealedBatch => {
    const { owner, records } = contentOf(batch.bytes);
    const name = partitionName(batch.topic, batch.partition);
    const firstSequence = next.get(name) ?? 0;
    next.set(name, firstSequence + records.length);
    return { ...batch, bytes: new SimulatedBatch(records).seal({ ...owner, firstSequence }) };
  };
  const produce: Produce = (node, request) =>
    brokers.produce(node, { ...request, batches: request.batches.map(renumbered) });
  return new TransactionalProducer({ ...options, brokers: withOther(brokers, { produce }) });
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

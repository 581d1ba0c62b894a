import { partitionName } from '../../model/topic-names.ts';
import { request, typeOf, wholeRequest, type RequestFor } from './kafka-broker.ts';
import type { KafkaConnections } from './kafka-connections.ts';
import { encodeProduceRequest } from './produce-request.ts';
import {
  RequestFailure,
  type PartitionAnswer,
  type ProduceRequest,
  type ProducerIdentity,
  type TopicPartitions,
  type TransactionBrokers,
} from '../transaction-brokers.ts';

/** What kafkajs decodes, before it would throw the first error in it. */
interface ProduceAnswer {
  readonly clientSideThrottleTime?: number;
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly baseOffset: string;
    }[];
  }[];
}

interface AddPartitionsAnswer {
  readonly errors: readonly {
    readonly topic: string;
    readonly partitionErrors: readonly { readonly errorCode: number }[];
  }[];
}

/**
 * Sends the requests over the connections that all tenants of the process share; each request names its own producer.
 * kafkajs' producer is not used, because it repeats requests that are still in flight (ADR 27).
 */
export class KafkaTransactionBrokers implements TransactionBrokers {
  readonly #connections: KafkaConnections;
  readonly #onThrottled: (ms: number) => void;

  /** `onThrottled`: called when the brokers ask this client to wait because of a quota (KIP-219). */
  constructor(connections: KafkaConnections, onThrottled: (ms: number) => void) {
    this.#connections = connections;
    this.#onThrottled = onThrottled;
  }

  async leadersOf(topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const led = await this.#connections.partitionsOf(topics);
    return new Map(
      led.flatMap(({ topic, partition, leader }) =>
        leader < 0 ? [] : [[partitionName(topic, partition), leader]],
      ),
    );
  }

  coordinatorOf(transactionalId: string): Promise<number> {
    return this.#connections.coordinatorOf(transactionalId, 'transactional-id');
  }

  async initProducerId(node: number, transactionalId: string, timeoutMs: number): Promise<ProducerIdentity> {
    const options = { transactionalId, transactionTimeout: timeoutMs };
    const { producerId, producerEpoch } = await this.#connections.ask<{
      producerId: string;
      producerEpoch: number;
    }>(node, request('InitProducerId', options));
    return { transactionalId, producerId: BigInt(producerId), producerEpoch };
  }

  async addPartitions(node: number, producer: ProducerIdentity, partitions: TopicPartitions): Promise<void> {
    const topics = [...partitions].map(([topic, some]) => ({ topic, partitions: some }));
    const added = wholeRequest('AddPartitionsToTxn', { ...producer, topics });
    const { errors } = await this.#connections.ask<AddPartitionsAnswer>(node, added);
    const refused = errors.flatMap(({ topic, partitionErrors }) =>
      partitionErrors.flatMap(({ errorCode }) => {
        const type = typeOf(errorCode);
        return type === null ? [] : [{ topic, type }];
      }),
    );
    // A partition of a topic without a right keeps all others from being attempted.
    const cause = refused.find(({ type }) => type !== 'OPERATION_NOT_ATTEMPTED') ?? refused[0];
    if (cause !== undefined) throw new RequestFailure('refused', cause);
  }

  async produce(node: number, batches: ProduceRequest): Promise<readonly PartitionAnswer[]> {
    const requestFor = wholeRequest('Produce', { topicData: [] });
    const encode = () => Promise.resolve(encodeProduceRequest(batches));
    const sealed: RequestFor = (broker) => {
      const { request: head, response } = requestFor(broker);
      return { request: { ...head, encode }, response };
    };
    const answer = await this.#connections.ask<ProduceAnswer>(node, sealed, 'batches');
    const { topics, clientSideThrottleTime = 0 } = answer;
    this.#onThrottled(clientSideThrottleTime);
    return topics.flatMap(({ topicName: topic, partitions }) =>
      partitions.map(({ partition, errorCode, baseOffset }) => ({
        topic,
        partition,
        error: typeOf(errorCode),
        baseOffset: Number(baseOffset),
      })),
    );
  }

  async endTransaction(node: number, producer: ProducerIdentity, isCommit: boolean): Promise<void> {
    await this.#connections.ask(node, request('EndTxn', { ...producer, transactionResult: isCommit }));
  }
}

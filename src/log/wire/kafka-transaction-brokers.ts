import { partitionName } from '../../model/topic-names.ts';
import { request, typeOf, wholeRequest, type RequestFor } from './kafka-broker.ts';
import type { KafkaConnections } from './kafka-connections.ts';
import { encodeProduceRequest } from './produce-request.ts';
import { RequestFailure, type TransactionBrokers } from '../transaction-brokers.ts';

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
 * kafkajs' producer is not used, because it repeats requests that are still in flight (ADR 27). `onThrottled`: called when
 * the brokers ask this client to wait because of a quota (KIP-219).
 */
export function kafkaTransactionBrokers(
  connections: KafkaConnections,
  onThrottled: (ms: number) => void,
): TransactionBrokers {
  return {
    async leadersOf(topics) {
      const led = await connections.partitionsOf(topics);
      return new Map(
        led.flatMap(({ topic, partition, leader }) =>
          leader < 0 ? [] : [[partitionName(topic, partition), leader]],
        ),
      );
    },

    coordinatorOf: (transactionalId) => connections.coordinatorOf(transactionalId, 'transactional-id'),

    async initProducerId(node, transactionalId, timeoutMs) {
      const options = { transactionalId, transactionTimeout: timeoutMs };
      const { producerId, producerEpoch } = await connections.ask<{
        producerId: string;
        producerEpoch: number;
      }>(node, request('InitProducerId', options));
      return { transactionalId, producerId: BigInt(producerId), producerEpoch };
    },

    async addPartitions(node, producer, partitions) {
      const topics = [...partitions].map(([topic, some]) => ({ topic, partitions: some }));
      const added = wholeRequest('AddPartitionsToTxn', { ...producer, topics });
      const { errors } = await connections.ask<AddPartitionsAnswer>(node, added);
      const refused = errors.flatMap(({ topic, partitionErrors }) =>
        partitionErrors.flatMap(({ errorCode }) => {
          const type = typeOf(errorCode);
          return type === null ? [] : [{ topic, type }];
        }),
      );
      // If this user lacks a right on one topic, Kafka does not attempt to add the partitions of any topic.
      const cause = refused.find(({ type }) => type !== 'OPERATION_NOT_ATTEMPTED') ?? refused[0];
      if (cause !== undefined) throw new RequestFailure('refused', cause);
    },

    async produce(node, batches) {
      const requestFor = wholeRequest('Produce', { topicData: [] });
      const encode = () => Promise.resolve(encodeProduceRequest(batches));
      const sealed: RequestFor = (broker) => {
        const { request: head, response } = requestFor(broker);
        return { request: { ...head, encode }, response };
      };
      const answer = await connections.ask<ProduceAnswer>(node, sealed, 'batches');
      const { topics, clientSideThrottleTime = 0 } = answer;
      onThrottled(clientSideThrottleTime);
      return topics.flatMap(({ topicName: topic, partitions }) =>
        partitions.map(({ partition, errorCode, baseOffset }) => ({
          topic,
          partition,
          error: typeOf(errorCode),
          baseOffset: Number(baseOffset),
        })),
      );
    },

    async endTransaction(node, producer, isCommit) {
      await connections.ask(node, request('EndTxn', { ...producer, transactionResult: isCommit }));
    },
  };
}

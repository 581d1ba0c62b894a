import { createRequire } from 'node:module';
import { partitionName } from '../model/topic-names.ts';
import { innermost, isOfConnection } from './kafka-errors.ts';
import type { KafkaBroker, KafkaCluster, KafkaRequest } from './kafka-cluster.ts';
import { encodeProduceRequest } from './produce-request.ts';
import {
  RequestFailure,
  type PartitionAnswer,
  type ProduceRequest,
  type ProducerIdentity,
  type TopicPartitions,
  type TransactionBrokers,
} from './transaction-brokers.ts';

const require = createRequire(import.meta.url);
const { requests } = require('kafkajs/src/protocol/requests') as { requests: Record<string, object> };
const apiKeys = require('kafkajs/src/protocol/requests/apiKeys') as Readonly<Record<string, number>>;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { readonly type: string };
};

const TRANSACTION = 1;
const OK = 0;
const PRODUCER_FENCED = 90;

/** What kafkajs decodes, before it would throw the first error in it. */
interface ProduceAnswer {
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
 * Sends them by kafkajs' connections. kafkajs' own producer is not used, because it repeats requests that are still in
 * flight (ADR 27).
 */
export class KafkaTransactionBrokers implements TransactionBrokers {
  readonly #cluster: KafkaCluster;

  constructor(cluster: KafkaCluster) {
    this.#cluster = cluster;
  }

  connect(): Promise<void> {
    return asked(() => this.#cluster.connect());
  }

  disconnect(): Promise<void> {
    return this.#cluster.disconnect();
  }

  async leadersOf(topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
    // A new set, since a topic that was refused would make every later question fail, too.
    this.#cluster.targetTopics = new Set(topics);
    await asked(() => this.#cluster.refreshMetadata());
    const leaders = new Map<string, number>();
    for (const topic of topics) {
      for (const { partitionId, leader } of this.#cluster.findTopicPartitionMetadata(topic))
        if (leader >= 0) leaders.set(partitionName(topic, partitionId), leader);
    }
    return leaders;
  }

  async coordinatorOf(transactionalId: string): Promise<number> {
    const broker = await reached(() => this.#cluster.brokerPool.findConnectedBroker());
    const { coordinator } = await asked(() =>
      broker.findGroupCoordinator({ groupId: transactionalId, coordinatorType: TRANSACTION }),
    );
    return coordinator.nodeId;
  }

  async initProducerId(node: number, transactionalId: string, timeoutMs: number): Promise<ProducerIdentity> {
    const broker = await this.#broker(node);
    const { producerId, producerEpoch } = await asked(() =>
      broker.initProducerId({ transactionalId, transactionTimeout: timeoutMs }),
    );
    return { transactionalId, producerId: BigInt(producerId), producerEpoch };
  }

  async addPartitions(node: number, producer: ProducerIdentity, partitions: TopicPartitions): Promise<void> {
    const broker = await this.#broker(node);
    const topics = [...partitions].map(([topic, some]) => ({ topic, partitions: some }));
    const request = requestOf(broker, 'AddPartitionsToTxn', { ...producer, topics });
    const { errors } = await askedAs<AddPartitionsAnswer>(broker, request);
    const refused = errors.flatMap(({ topic, partitionErrors }) =>
      partitionErrors
        .filter(({ errorCode }) => errorCode !== OK)
        .map(({ errorCode }) => ({ topic, type: typeOf(errorCode) })),
    );
    // A partition of a topic without a right keeps all others from being attempted.
    const cause = refused.find(({ type }) => type !== 'OPERATION_NOT_ATTEMPTED') ?? refused[0];
    if (cause !== undefined) throw new RequestFailure('refused', cause);
  }

  async produce(node: number, request: ProduceRequest): Promise<readonly PartitionAnswer[]> {
    const broker = await this.#broker(node);
    const { request: head, response } = requestOf(broker, 'Produce', { topicData: [] });
    const encoded = { ...head, encode: () => Promise.resolve(encodeProduceRequest(request)) };
    const { topics } = await askedAs<ProduceAnswer>(broker, { request: encoded, response });
    return topics.flatMap(({ topicName: topic, partitions }) =>
      partitions.map(({ partition, errorCode, baseOffset }) => ({
        topic,
        partition,
        error: errorCode === OK ? null : typeOf(errorCode),
        baseOffset: Number(baseOffset),
      })),
    );
  }

  async endTransaction(node: number, producer: ProducerIdentity, isCommit: boolean): Promise<void> {
    const broker = await this.#broker(node);
    await asked(() => broker.endTxn({ ...producer, transactionResult: isCommit }));
  }

  #broker(nodeId: number): Promise<KafkaBroker> {
    return reached(() => this.#cluster.findBroker({ nodeId }));
  }
}

/** A request of the newest version that broker and kafkajs both know. `name`: as kafkajs calls it. */
export function requestOf(broker: KafkaBroker, name: string, options: object): KafkaRequest {
  const definition = requests[name];
  const apiKey = apiKeys[name];
  if (definition === undefined || apiKey === undefined) throw new Error(`kafkajs knows no ${name}`);
  return broker.lookupRequest(apiKey, definition)(options);
}

/** Sends a request, and returns its answer with all errors in it. */
export function askedAs<Answer>(broker: KafkaBroker, { request, response }: KafkaRequest): Promise<Answer> {
  const whole = { decode: response.decode, parse: (answer: unknown) => Promise.resolve(answer) };
  return asked(() => broker.connectionPool.send({ request, response: whole })) as Promise<Answer>;
}

/** The type of an error of Kafka's protocol. */
export function typeOf(errorCode: number): string {
  const { type } = createErrorFromCode(errorCode);
  // kafkajs' table ends at 88.
  return errorCode === PRODUCER_FENCED ? 'PRODUCER_FENCED' : type;
}

function asked<T>(request: () => Promise<T>): Promise<T> {
  return orFailure('unanswered', request);
}

function reached<T>(connect: () => Promise<T>): Promise<T> {
  return orFailure('unsent', connect);
}

/** Makes a {@link RequestFailure} of what kafkajs throws; others, such as a refused login, stay as they are. */
async function orFailure<T>(without: 'unsent' | 'unanswered', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const failure = innermost(error);
    const { name, type } = failure;
    if (name === 'KafkaJSProtocolError' && type !== undefined)
      throw new RequestFailure('refused', { type, cause: error });
    if (isOfConnection(failure)) throw new RequestFailure(without, { cause: error });
    throw error;
  }
}

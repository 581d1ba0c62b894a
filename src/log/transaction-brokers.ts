export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Partitions by the name of their topic. */
export type TopicPartitions = ReadonlyMap<string, readonly number[]>;

/** The numbers that Kafka gives a transactional producer; a higher epoch fences the lower ones (KIP-98). */
export interface ProducerIdentity {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** A batch in Kafka's own format, as it is sent to the leader of its partition. */
export interface SealedBatch extends TopicPartition {
  readonly bytes: Buffer;
}

/** What one broker is to append; at most one batch for each partition, and none for a partition that others lead. */
export interface ProduceRequest {
  readonly producer: ProducerIdentity;
  readonly batches: readonly SealedBatch[];
  /** How long the broker may wait for the replicas. */
  readonly timeoutMs: number;
}

/** What the leader of a partition answered to a batch. */
export interface PartitionAnswer extends TopicPartition {
  /** The type of the error in Kafka's protocol. Null: the batch has been appended, and begins at `baseOffset`. */
  readonly error: string | null;
  readonly baseOffset: number;
}

/**
 * Why a request was not done:
 * - `refused`: the broker answered with an error, whose `type` Kafka's protocol defines; it may name a topic
 * - `unsent`: no connection could be made
 * - `unanswered`: nobody knows what the broker did, or still will do
 */
export class RequestFailure extends Error {
  readonly outcome: 'refused' | 'unsent' | 'unanswered';
  /** For example `TOPIC_AUTHORIZATION_FAILED`. Only a refusal has a type. */
  readonly type: string | undefined;
  readonly topic: string | undefined;

  constructor(
    outcome: RequestFailure['outcome'],
    details: { readonly type?: string; readonly topic?: string; readonly cause?: unknown } = {},
  ) {
    super(details.type ?? TEXTS[outcome], { cause: details.cause });
    this.name = 'RequestFailure';
    this.outcome = outcome;
    this.type = details.type;
    this.topic = details.topic;
  }
}

const TEXTS = {
  refused: 'a broker refused a request',
  unsent: 'a broker could not be reached',
  unanswered: 'a broker did not answer',
};

/** The requests of a transactional producer. Each is sent at most once, and rejects with a {@link RequestFailure}. */
export interface TransactionBrokers {
  /** Node ids of the partitions' leaders, by `<topic>/<partition>`; a partition without a leader is left out. */
  leadersOf(topics: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Node id of the coordinator. */
  coordinatorOf(transactionalId: string): Promise<number>;
  initProducerId(node: number, transactionalId: string, timeoutMs: number): Promise<ProducerIdentity>;
  addPartitions(node: number, producer: ProducerIdentity, partitions: TopicPartitions): Promise<void>;
  produce(node: number, request: ProduceRequest): Promise<readonly PartitionAnswer[]>;
  endTransaction(node: number, producer: ProducerIdentity, isCommit: boolean): Promise<void>;
}

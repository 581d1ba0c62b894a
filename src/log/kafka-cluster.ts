import type { Kafka, PartitionAssigner, RequestEvent } from 'kafkajs';

/** What is used of a broker of kafkajs. Its methods reject with an error that has the `type` of Kafka's protocol. */
export interface KafkaBroker {
  readonly connectionPool: { send(request: KafkaRequest): Promise<unknown> };
  /** Chooses the newest version of a request that broker and kafkajs both know. */
  readonly lookupRequest: (apiKey: number, definition: object) => RequestOf;
  joinGroup(request: object): Promise<JoinedGroup>;
  syncGroup(request: object): Promise<{ readonly memberAssignment: Buffer }>;
  heartbeat(request: object): Promise<unknown>;
  leaveGroup(request: object): Promise<unknown>;
  findGroupCoordinator(request: object): Promise<{ readonly coordinator: { readonly nodeId: number } }>;
  initProducerId(request: object): Promise<{ readonly producerId: string; readonly producerEpoch: number }>;
  endTxn(request: object): Promise<unknown>;
}

export interface JoinedGroup {
  readonly memberId: string;
  readonly leaderId: string;
  readonly generationId: number;
  /** Empty for all but the leader. */
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

type RequestOf = (options: object) => KafkaRequest;

/** A request as kafkajs sends it. `decode` reads an answer, and `parse` throws the first error in it. */
export interface KafkaRequest {
  readonly request: { readonly encode: () => Promise<unknown> };
  readonly response: {
    readonly decode: (bytes: Buffer) => Promise<unknown>;
    readonly parse: (answer: unknown) => Promise<unknown>;
  };
}

export interface PartitionLeader {
  readonly partitionId: number;
  /** Node id; -1 while there is none. */
  readonly leader: number;
}

/** What is used of kafkajs' cluster: connections to all brokers, and who leads which partition. */
export interface KafkaCluster {
  /** Topics that {@link refreshMetadata} asks for; none: all topics of the cluster. */
  targetTopics: Set<string>;
  readonly brokerPool: { findConnectedBroker(): Promise<KafkaBroker> };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly PartitionLeader[];
  findBroker(node: { readonly nodeId: number }): Promise<KafkaBroker>;
  findGroupCoordinator(group: { readonly groupId: string }): Promise<KafkaBroker>;
}

/**
 * Makes a cluster with connections of its own. kafkajs keeps its cluster to itself; only its documented interface for
 * partition assigners hands one out. `onRequest`: called after each request.
 */
export function clusterOf(
  kafka: Pick<Kafka, 'consumer'>,
  groupId: string,
  onRequest?: (event: RequestEvent) => void,
): KafkaCluster {
  let cluster: KafkaCluster | null = null;
  const catchCluster = (given: Parameters<PartitionAssigner>[0]): ReturnType<PartitionAssigner> => {
    cluster = given.cluster as unknown as KafkaCluster;
    return {} as ReturnType<PartitionAssigner>;
  };
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [catchCluster],
    // Rollcall itself creates topics, with the contract's settings instead of the brokers' defaults.
    allowAutoTopicCreation: false,
  });
  if (cluster === null) throw new Error('kafkajs handed out no cluster');
  if (onRequest !== undefined) consumer.on(consumer.events.REQUEST, onRequest);
  return cluster;
}

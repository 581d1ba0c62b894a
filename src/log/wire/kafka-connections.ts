import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerMetadata } from 'kafkajs';
import { jitteredPauseMs, type Backoff } from '../../backoff.ts';
import { Semaphore, Turns } from '../../semaphore.ts';
import { BrokerConnection } from './broker-connection.ts';
import { request, typeOf, wholeRequest, type BrokerAt, type RequestFor } from './kafka-broker.ts';
import { RequestFailure, type TopicPartition } from '../transaction-brokers.ts';

/**
 * What a connection is for. Batches have a connection of their own, because a broker answers them only after its
 * replicas, and stops reading their connection when a quota is exceeded (KIP-219). Meanwhile the transactions of other
 * tenants can end over another connection. The requests of a member of the group have a third one, so that neither
 * delays them.
 */
export type Purpose = 'batches' | 'membership' | 'rest';

export interface LedPartition extends TopicPartition {
  /** Node id of the partition's leader; -1 while there is none. */
  readonly leader: number;
}

type MetadataAnswer = BrokerMetadata & { readonly controllerId: number };

interface NodeAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

/** For how long a request to any broker is repeated while no broker answers. */
const ANSWERED_WITHIN_MS = 9_000;
/**
 * How many transactions of a process may be open at once. A broker works on one request of a connection at a time, so more of
 * them would not end sooner. They would wait for the connection while their time runs (60 s for the brokers).
 */
const OPEN_TRANSACTIONS = 16;
/** A transaction that waits for slow brokers must not keep the others waiting for longer. */
const LONG_TRANSACTION_MS = 5_000;
const MISSING = 'UNKNOWN_TOPIC_OR_PARTITION';
const RETRY: Backoff = { firstMs: 50, longestMs: 1_000 };

/**
 * The connections of a process to all brokers, for all its tenants: one for each {@link Purpose} and broker. Each opens
 * with its first request. No tenant can close them. They remember no leaders, so each tenant asks for the leaders
 * itself.
 */
export class KafkaConnections implements Disposable {
  /** The transactions of all tenants begin in turn. */
  readonly transactions = new Turns(new Semaphore(OPEN_TRANSACTIONS), LONG_TRANSACTION_MS);
  readonly #newConnection: (address: string) => BrokerConnection;
  readonly #configured: readonly string[];
  /** The addresses of brokers, by node id, as the brokers advertise them. */
  readonly #addresses = new Map<number, string>();
  /** The connections, by purpose and address. */
  readonly #connections = new Map<string, BrokerConnection>();
  #isClosed = false;

  /** `configured`: addresses of some brokers. `answerWithinMs`: what takes longer counts as unanswered. */
  constructor(brokerAt: BrokerAt, configured: readonly string[], answerWithinMs: number) {
    this.#configured = configured;
    this.#newConnection = (address) => new BrokerConnection(brokerAt, address, answerWithinMs);
  }

  /** Sends a request to a node once at most; see {@link BrokerConnection.ask}. */
  async ask<Answer>(node: number, requestFor: RequestFor, purpose: Purpose = 'rest'): Promise<Answer> {
    const address = this.#addresses.get(node);
    if (address === undefined) throw new RequestFailure('unsent');
    return this.#connection(address, purpose).ask<Answer>(requestFor);
  }

  /** Asks one broker after another until one answers. */
  askAny<Answer>(requestFor: RequestFor, purpose: Purpose = 'rest'): Promise<Answer> {
    return this.#untilAnswered(async () => {
      let failure: unknown;
      for (const address of this.#addressesByTurn(purpose)) {
        try {
          return await this.#connection(address, purpose).ask<Answer>(requestFor);
        } catch (error) {
          if (!(error instanceof RequestFailure) || error.outcome === 'refused') throw error;
          failure = error;
        }
      }
      throw failure;
    });
  }

  async #untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const untilMs = performance.now() + ANSWERED_WITHIN_MS;
    for (let failures = 1; ; failures += 1) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof RequestFailure) || this.#isClosed || performance.now() >= untilMs) throw error;
        if (error.outcome === 'refused' && error.type !== 'NOT_CONTROLLER') throw error;
        await delay(jitteredPauseMs(RETRY, failures, Math.random));
      }
    }
  }

  /** The partitions of topics, with their leaders. Rejects with a {@link RequestFailure}, also where a topic is missing. */
  async partitionsOf(
    topics: readonly string[],
    { skipsMissing = false } = {},
  ): Promise<readonly LedPartition[]> {
    // If no topics were named, the brokers would describe all topics.
    if (topics.length === 0) return [];
    const { topicMetadata } = await this.#metadata(topics);
    return topicMetadata.flatMap(({ topic, topicErrorCode, partitionMetadata }) => {
      const type = typeOf(topicErrorCode);
      if (skipsMissing && type === MISSING) return [];
      if (type !== null) throw new RequestFailure('refused', { type, topic });
      return partitionMetadata.map(({ partitionId: partition, leader }) => ({ topic, partition, leader }));
    });
  }

  /**
   * All topics that this user may see and that at least one of the brokers that answer lists. Brokers learn one after
   * the other that a topic is new or deleted.
   */
  async listTopics(): Promise<string[]> {
    const first = await this.#metadata([]);
    const about = metadataRequest([]);
    const asked = [...this.#addresses.keys()].map((node) => this.ask<MetadataAnswer>(node, about));
    const answers = (await Promise.allSettled(asked)).flatMap((answer) =>
      answer.status === 'fulfilled' ? [answer.value] : [],
    );
    const names = [first, ...answers].flatMap(({ topicMetadata }) => topicMetadata.map(({ topic }) => topic));
    return [...new Set(names)];
  }

  /**
   * Asks each broker by itself, once, at each address that the configuration names or a broker advertises. Returns by
   * address why nothing answers there; null: something does. `topics`: any topics, named only so that the answer with
   * the addresses does not describe all topics.
   */
  async tryEach(topics: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    await this.#metadata(topics);
    const addresses = new Set([...this.#configured, ...this.#addresses.values()]);
    const tried = [...addresses].map(async (address) => {
      const asked = this.#connection(address, 'rest').ask(request('ApiVersions', {}));
      const failure: unknown = await asked.then(
        () => null,
        (error: unknown) => error,
      );
      return [address, failure] as const;
    });
    return new Map(await Promise.all(tried));
  }

  /** Asks the controller for a change of topics. Asks again if another broker has become the controller. */
  askController<Answer>(requestFor: RequestFor, topics: readonly string[]): Promise<Answer> {
    return this.#untilAnswered(async () => {
      const { controllerId } = await this.#metadata(topics);
      return this.ask<Answer>(controllerId, requestFor);
    });
  }

  /** Node id of the coordinator. */
  async coordinatorOf(name: string, of: 'group' | 'transactional-id'): Promise<number> {
    const isGroup = of === 'group';
    const { coordinator } = await this.askAny<{ readonly coordinator: NodeAddress }>(
      request('GroupCoordinator', { groupId: name, coordinatorType: isGroup ? 0 : 1 }),
      isGroup ? 'membership' : 'rest',
    );
    this.#note(coordinator);
    return coordinator.nodeId;
  }

  async #metadata(topics: readonly string[]): Promise<MetadataAnswer> {
    const answer = await this.askAny<MetadataAnswer>(metadataRequest(topics));
    for (const each of answer.brokers) this.#note(each);
    return answer;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const each of this.#connections.values()) each.breakOff(new RequestFailure('unsent'));
  }

  #note({ nodeId, host, port }: NodeAddress): void {
    this.#addresses.set(nodeId, `${host}:${port}`);
  }

  #connection(address: string, purpose: Purpose): BrokerConnection {
    const name = `${purpose} ${address}`;
    const known = this.#connections.get(name) ?? this.#newConnection(address);
    this.#connections.set(name, known);
    return known;
  }

  /**
   * The addresses of brokers, connected ones first. Those of the configuration come last, because any broker may be
   * behind them.
   */
  #addressesByTurn(purpose: Purpose): ReadonlySet<string> {
    const known = [...this.#addresses.values()];
    const first = Math.floor(Math.random() * known.length);
    const byTurn = [...known.slice(first), ...known.slice(0, first)];
    const isOpen = (address: string): boolean => this.#connection(address, purpose).isOpen;
    return new Set([...byTurn.filter(isOpen), ...byTurn, ...this.#configured]);
  }
}

/** Asks for these topics. Without any, it asks for all topics. */
function metadataRequest(topics: readonly string[]): RequestFor {
  return wholeRequest('Metadata', { topics, allowAutoTopicCreation: false });
}

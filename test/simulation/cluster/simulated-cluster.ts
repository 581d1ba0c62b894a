import { partitionName } from '../../../src/model/topic-names.ts';
import {
  RequestFailure,
  type PartitionAnswer,
  type ProduceRequest,
  type ProducerIdentity,
  type TopicPartitions,
  type TransactionBrokers,
} from '../../../src/log/transaction-brokers.ts';
import { dawdle, strikes, type Surroundings } from '../parts/surroundings.ts';
import type { Entry } from '../tenants/partition.ts';
import { TransactionState } from './coordinator.ts';
import { PartitionLog } from './partition-log.ts';
import { contentOf } from './simulated-batch.ts';

const NODES = [1, 2, 3] as const;
/** A transaction that is open for longer is aborted, and its producer is fenced. */
const TRANSACTION_TIMEOUT_MS = 150;
/** A client waits so long for an answer. */
const REQUEST_TIMEOUT_MS = 40;
const MOST_NETWORK_MS = 3;
/** A frozen broker, or a request on its way, may act when its client has long given up. */
const MOST_LATE_MS = 200;
const MOST_MARKER_MS = 10;
const LONGEST_AWAY_MS = 60;

/** Errors with which a leader refuses a batch before it appends it, and it may be repeated. */
const REFUSED_BEFORE = [
  'LEADER_NOT_AVAILABLE',
  'NOT_ENOUGH_REPLICAS',
  'KAFKA_STORAGE_ERROR',
  'UNKNOWN_TOPIC_OR_PARTITION',
];
/** Errors of a batch that is appended all the same. */
const REFUSED_AFTER = ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'REQUEST_TIMED_OUT'];
const COORDINATOR_BUSY = ['GROUP_COORDINATOR_NOT_AVAILABLE', 'GROUP_LOAD_IN_PROGRESS'];

export interface SimulatedClusterOptions {
  readonly at: Surroundings;
  readonly happened: (what: string) => void;
  /** Called with what a transaction has written, by the name of its partition; its markers follow. */
  readonly onDecided: (
    entries: ReadonlyMap<string, readonly Entry[]>,
    state: 'committed' | 'aborted',
  ) => void;
}

/** Requests, by the words of what happened to them. */
type Question = 'question' | 'opening' | 'beginning' | 'send' | 'commit' | 'abort';

/**
 * A Kafka cluster of three brokers with one transactional id. Requests come late, are refused, done without an answer, or done
 * long after their client has given up; leaders and the coordinator move between any two steps, and a broker may die for a
 * time. What all replicas in sync have is never lost.
 */
export class SimulatedCluster {
  readonly #options: SimulatedClusterOptions;
  readonly #partitions = new Map<string, PartitionLog>();
  readonly #transaction: TransactionState;
  #coordinator: number = NODES[0];
  /** The broker that is away, and until when. */
  #away: { readonly node: number; readonly untilMs: number } | null = null;

  constructor(options: SimulatedClusterOptions) {
    this.#options = options;
    this.#transaction = new TransactionState('t', (partitions, state) => this.#end(partitions, state));
  }

  create(topic: string, partitions: number): void {
    for (let partition = 0; partition < partitions; partition += 1)
      this.#partitions.set(
        partitionName(topic, partition),
        new PartitionLog(this.#options.at.random.pick(NODES)),
      );
  }

  delete(topic: string): void {
    for (let partition = 0; this.#partitions.delete(partitionName(topic, partition)); partition += 1);
  }

  /** By the number of the partition; empty: there is no such topic. */
  logsOf(topic: string): readonly PartitionLog[] {
    const logs: PartitionLog[] = [];
    for (
      let log = this.#partitionOf(topic, 0);
      log !== undefined;
      log = this.#partitionOf(topic, logs.length)
    )
      logs.push(log);
    return logs;
  }

  #partitionOf(topic: string, partition: number): PartitionLog | undefined {
    return this.#partitions.get(partitionName(topic, partition));
  }

  /** The connections of one client. */
  connect(): TransactionBrokers {
    const { at } = this.#options;
    return {
      leadersOf: (topics) => this.#ask('question', null, () => this.#leadersOf(topics)),
      coordinatorOf: () => this.#ask('question', null, () => this.#coordinator),
      initProducerId: (node) =>
        this.#askCoordinator('opening', node, () => {
          const refusal = this.#transaction.init();
          if (refusal === null) return this.#transaction.identity;
          throw new RequestFailure('refused', { type: refusal });
        }),
      addPartitions: (node, producer, partitions) =>
        this.#askCoordinator('beginning', node, () => {
          const names = namesOf(partitions);
          if (!names.every((name) => this.#partitions.has(name))) refuse('UNKNOWN_TOPIC_OR_PARTITION');
          refuse(this.#transaction.add(producer, names, at.time.now()));
        }),
      produce: (node, request) => this.#ask('send', node, () => this.#produce(node, request)),
      endTransaction: (node, producer, isCommit) =>
        this.#askCoordinator(isCommit ? 'commit' : 'abort', node, () =>
          refuse(this.#transaction.end(producer, isCommit)),
        ),
    };
  }

  /** Perhaps moves leaders or the coordinator, or takes a broker away or brings it back. */
  disturb(): void {
    const { at, happened } = this.#options;
    this.#expire();
    if (strikes(at, 0.04)) this.#moveLeaders(at.random.pick(NODES));
    if (strikes(at, 0.02)) {
      happened('kafka: the coordinator moved');
      this.#coordinator = at.random.pick(NODES);
    }
    if (this.#away === null && strikes(at, 0.012)) {
      const node = at.random.pick(NODES);
      happened('kafka: a broker died');
      this.#away = { node, untilMs: at.time.now() + at.random.below(LONGEST_AWAY_MS) };
      // The others notice some time later.
      if (at.random.chance(0.5)) this.#moveLeaders(node);
    }
    if (this.#away !== null && this.#away.untilMs <= at.time.now()) this.#away = null;
  }

  #moveLeaders(from: number): void {
    const { at, happened } = this.#options;
    const others = NODES.filter((node) => node !== from && node !== this.#away?.node);
    for (const log of this.#partitions.values()) {
      if (log.leader !== from || at.random.chance(0.3)) continue;
      happened('kafka: a leader moved');
      log.elect(at.random.pick(others), at.random.chance(0.5));
    }
    if (this.#coordinator === from) this.#coordinator = at.random.pick(others);
  }

  #leadersOf(topics: readonly string[]): ReadonlyMap<string, number> {
    const leaders = topics.flatMap((topic) =>
      this.logsOf(topic).map(({ leader }, partition) => [partitionName(topic, partition), leader] as const),
    );
    return new Map(leaders.filter(([, leader]) => leader !== this.#away?.node));
  }

  #askCoordinator<T>(question: Question, node: number, act: () => T): Promise<T> {
    return this.#ask(question, node, () => {
      const { at } = this.#options;
      this.#expire();
      if (node !== this.#coordinator)
        throw new RequestFailure('refused', { type: 'NOT_COORDINATOR_FOR_GROUP' });
      if (strikes(at, 0.008)) throw new RequestFailure('refused', { type: at.random.pick(COORDINATOR_BUSY) });
      return act();
    });
  }

  /**
   * A request and its answer. `node` null: any broker that is there. A request that its client gives up is done later, or
   * never, or was done and only the answer is lost.
   */
  async #ask<T>(question: Question, node: number | null, act: () => T | Promise<T>): Promise<T> {
    const { at, happened } = this.#options;
    await dawdle(at, MOST_NETWORK_MS);
    this.disturb();
    if (node !== null && node === this.#away?.node) throw new RequestFailure('unsent');
    const fate = strikes(at, 0.024) ? at.random.pick(['never', 'late', 'unheard'] as const) : 'answered';
    if (fate === 'answered') {
      const answer = await act();
      await dawdle(at, MOST_NETWORK_MS);
      return answer;
    }
    happened(`kafka: ${question} ${WITHOUT_ANSWER[fate]}`);
    if (fate === 'unheard') await this.#actUnheard(act, 0);
    if (fate === 'late') void this.#actUnheard(act, at.random.below(MOST_LATE_MS));
    await at.time.sleep(at.random.below(REQUEST_TIMEOUT_MS));
    throw new RequestFailure('unanswered');
  }

  async #actUnheard(act: () => unknown, afterMs: number): Promise<void> {
    await this.#options.at.time.sleep(afterMs);
    try {
      await act();
    } catch {
      // Nobody waits for the answer.
    }
  }

  async #produce(node: number, { producer, batches }: ProduceRequest): Promise<readonly PartitionAnswer[]> {
    const answers = batches.map(async ({ topic, partition, bytes }) => {
      const log = this.#partitionOf(topic, partition);
      const answer =
        log === undefined
          ? { error: 'UNKNOWN_TOPIC_OR_PARTITION', baseOffset: -1 }
          : await this.#append(node, { log, name: partitionName(topic, partition), producer, bytes });
      return { topic, partition, ...answer };
    });
    return Promise.all(answers);
  }

  async #append(
    node: number,
    batch: { log: PartitionLog; name: string; producer: ProducerIdentity; bytes: Buffer },
  ): Promise<Pick<PartitionAnswer, 'error' | 'baseOffset'>> {
    const { at, happened } = this.#options;
    const { log, name, producer, bytes } = batch;
    const refused = (error: string) => {
      happened(`kafka: a batch was refused, ${error}`);
      return { error, baseOffset: -1 };
    };
    if (log.leader !== node) return refused('NOT_LEADER_FOR_PARTITION');
    if (strikes(at, 0.016)) return refused(at.random.pick(REFUSED_BEFORE));
    this.#expire();
    const unverified = this.#transaction.verify(producer.producerEpoch, name);
    if (unverified !== null) return refused(unverified);
    const appended = log.append(contentOf(bytes), at.time.now());
    if (appended.error !== null) return refused(appended.error);
    const { baseOffset, isRepetition } = appended;
    if (isRepetition) happened('kafka: a leader recognised a batch');
    // The replicas fetch it meanwhile. The leader may have become another one by then, and may be this one again.
    const { leaderEpoch } = log;
    await dawdle(at, MOST_NETWORK_MS);
    if (log.leaderEpoch !== leaderEpoch) return refused('NOT_LEADER_FOR_PARTITION');
    log.replicate();
    if (strikes(at, 0.016)) return refused(at.random.pick(REFUSED_AFTER));
    return { error: null, baseOffset };
  }

  #expire(): void {
    if (this.#transaction.expire(this.#options.at.time.now(), TRANSACTION_TIMEOUT_MS))
      this.#options.happened('kafka: a transaction timed out');
  }

  /** Ends a transaction in its partitions at once; readers learn it from the markers, which come later. */
  #end(partitions: ReadonlySet<string>, state: 'committed' | 'aborted'): void {
    const { onDecided } = this.#options;
    const logs = [...partitions].flatMap((name) => {
      const log = this.#partitions.get(name);
      return log === undefined ? [] : [[name, log] as const];
    });
    const written = logs.map(([name, log]) => {
      log.replicate();
      return [name, log.partition.decide(state)] as const;
    });
    onDecided(new Map(written), state);
    void this.#writeMarkers(logs.map(([, log]) => log));
  }

  async #writeMarkers(logs: readonly PartitionLog[]): Promise<void> {
    const { at } = this.#options;
    await at.time.sleep(at.random.below(MOST_MARKER_MS));
    for (const { partition } of logs) partition.mark();
    this.#transaction.markersWritten();
  }
}

const WITHOUT_ANSWER = {
  never: 'was lost',
  late: 'was done after its client had given up',
  unheard: 'was done, but its answer was lost',
};

function refuse(type: string | null): void {
  if (type !== null) throw new RequestFailure('refused', { type });
}

function namesOf(partitions: TopicPartitions): string[] {
  return [...partitions].flatMap(([topic, some]) => some.map((partition) => partitionName(topic, partition)));
}

import type { RollIntervals } from '../../../src/core/segment-rolls.ts';
import { MAPPING_HEADER } from '../../../src/core/cloud-events.ts';
import { COLLECTIONS, STATE_TOPIC, type TopicSuffix } from '../../../src/model/collections.ts';
import {
  allOffsets,
  offsetsOf,
  offsetsWithout,
  withOffsets,
  type Offsets,
} from '../../../src/model/progress.ts';
import { partitionName, topicName } from '../../../src/model/topic-names.ts';
import type {
  Committed,
  LoggedRecord,
  LogReading,
  Ownership,
  TenantLog,
  TopicRange,
  Transaction,
} from '../../../src/log/log.ts';
import { frame } from '../../../src/log/framing.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';
import {
  idsSinceLoss,
  newestProgress,
  partitionIndexOf,
  type Broker,
  type ProducerState,
  type Written,
} from './broker.ts';
import type { Entry } from './partition.ts';

export const SCOPE = { topicPrefix: 'p', tenantId: 't' };

const BATCH_RECORDS = 6;
/** `delete.retention.ms` */
const REMOVALS_KEPT_MS = 7 * 24 * 3_600_000;

export interface BrokerLogOptions {
  readonly at: Surroundings;
  readonly broker: Broker;
  readonly process: number;
  readonly happened: (what: string) => void;
  /** `reused`: after a failed send the producer continues, with its sequence numbers rolled back. */
  readonly mistake?: 'reused' | 'forgets ownership' | undefined;
}

/**
 * The access of one process to the topics, by a transactional producer that the next one fences. A commit may fail before
 * anything is sent, after that, or with an outcome that is decided only later; it may hang until the brokers abort it. The
 * error is always the same, and ends this ownership. Records are compacted meanwhile, and a read returns those of any
 * partition next.
 */
export class BrokerLog implements TenantLog {
  readonly #options: BrokerLogOptions;
  readonly #lostTopics = new Set<TopicSuffix>();
  #producer: ProducerState | null = null;
  #ownedBefore = false;
  #turn: Promise<unknown> = Promise.resolve();
  /** By partition: the producer's own count of what it has sent. */
  #sequences = new Map<string, number>();

  constructor(options: BrokerLogOptions) {
    this.#options = options;
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    const { at, broker, process } = this.#options;
    const former = this.#producer;
    this.#producer = null;
    await dawdle(at, 4);
    if (this.#ownedBefore && broker.isSuperseded(process)) throw simulatedError('OWNERSHIP_LOST');
    signal.throwIfAborted();
    if (strikes(at, 0.03)) throw simulatedError('KAFKA_UNREACHABLE');
    const isKept = this.#options.mistake === 'reused' && former !== null && broker.isCurrent(former);
    const kept = isKept ? former : null;
    const producer = kept ?? broker.initProducer();
    if (kept === null) this.#sequences = new Map();
    await dawdle(at, 3);
    if (!broker.isCurrent(producer)) throw simulatedError('KAFKA_UNREACHABLE');
    broker.owners.push(process);
    this.#ownedBefore = this.#options.mistake !== 'forgets ownership';
    this.#producer = producer;
    const { transactions } = broker;
    const ownership = {
      owner: `process ${process}`,
      progress: newestProgress(transactions),
      transactionIds: idsSinceLoss(transactions),
    };
    await dawdle(at, 5);
    return ownership;
  }

  commit(transaction: Transaction): Promise<Committed> {
    return this.#inTurn(() => this.#commit(transaction));
  }

  async #commit(transaction: Transaction): Promise<Committed> {
    const { at, broker } = this.#options;
    const producer = this.#requireProducer();
    await dawdle(at, 5);
    if (strikes(at, 0.02)) throw this.#unknown('nothing was sent');
    const offsets = this.#send(producer, transaction);
    await dawdle(at, 2);
    if (strikes(at, 0.02)) {
      this.#happened('held long');
      await at.time.sleep(50 + at.random.below(250));
    }
    const { derived: follows = [] } = transaction;
    const followers = follows.map(({ collection }) => collection);
    const progress = withOffsets(transaction.progress, offsetsWithout(offsets, followers));
    const derived = follows.map((each) => withOffsets(each, offsetsOf(offsets, each.collection)));
    const complete = { ...transaction, progress, derived };
    if (strikes(at, 0.02)) {
      broker.leaveUndecided(producer, complete);
      throw this.#unknown('decided later');
    }
    if (!broker.commit(producer, complete)) throw this.#unknown('fenced');
    if (strikes(at, 0.03)) throw this.#unknown('done, but its answer was lost');
    await dawdle(at, at.random.chance(0.05) ? 60 : 5);
    for (const lost of transaction.lostTopics ?? []) this.#lostTopics.delete(lost);
    return { progress, derived, committedAtMs: at.time.now(), tookMs: 0 };
  }

  /** The offsets, with those of the last sent records. */
  #send(producer: ProducerState, transaction: Transaction): Offsets {
    const { at, broker, process } = this.#options;
    const offsets: Record<string, number> = {
      ...allOffsets([transaction.progress, ...(transaction.derived ?? [])]),
    };
    const sequences = new Map(this.#sequences);
    const { records } = transaction;
    if (records.some(({ topic }) => broker.partitionsOf(topic) === null))
      throw this.#unknown('no such topic');
    const written = broker.send(process, producer, { records, transaction, sequences });
    if (written === null) throw this.#unknown('fenced');
    if (strikes(at, 0.03)) throw this.#unknown('sent, but its answer was lost');
    for (const each of written) {
      this.#countSent(each);
      const { topic, partition, base, count } = each;
      const name = partitionName(topicName(SCOPE, topic), partition);
      if (base <= (offsets[name] ?? -1) && this.#options.mistake !== 'reused') {
        this.#lostTopics.add(topic);
        throw this.#unknown('a topic was recreated');
      }
      offsets[name] = Math.max(offsets[name] ?? -1, base + count - 1);
    }
    return offsets;
  }

  async ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    const { at, broker } = this.#options;
    await dawdle(at, 1);
    return topics.map((topic) => {
      const partitions = broker.partitionsOf(topic);
      if (partitions === null) throw simulatedError('KAFKA_TOPIC_MISSING');
      const isLost = this.#lostTopics.has(topic);
      return {
        topic,
        partitions: partitions.map((each) => ({
          low: each.low,
          high: isLost ? 0 : each.stableEnd(at.time.now()),
        })),
      };
    });
  }

  async read(options: LogReading): Promise<void> {
    const { at, broker } = this.#options;
    const topics = options.from.map(({ topic }) => topic);
    await this.#inTurn(() => this.#markEnds(topics));
    const lanes = options.from.flatMap(({ topic, after }) =>
      (broker.partitionsOf(topic) ?? []).map((partition, number) => {
        if (at.random.chance(0.5)) {
          const removalsSinceMs = at.time.now() - REMOVALS_KEPT_MS;
          partition.compact({ to: at.random.below(partition.next + 1), removalsSinceMs });
        }
        const last = after[partitionName(topicName(SCOPE, topic), number)] ?? -1;
        return partition.entries
          .filter(({ offset, state }) => state === 'committed' && offset > last)
          .map((entry) => toLogged(topic, number, entry));
      }),
    );
    while (lanes.length > 0) {
      const lane = at.random.pick(lanes);
      const batch = lane.splice(0, BATCH_RECORDS);
      if (batch.length === 0) {
        lanes.splice(lanes.indexOf(lane), 1);
        continue;
      }
      await dawdle(at, 1);
      options.signal.throwIfAborted();
      if (strikes(at, 0.01)) throw simulatedError('KAFKA_UNREACHABLE');
      await options.onBatch(batch);
    }
  }

  async rollIntervals(topics: readonly TopicSuffix[]): Promise<RollIntervals> {
    return new Map(topics.map((topic) => [topic, 24 * 3_600_000]));
  }

  async markEnds(partitions: ReadonlyMap<TopicSuffix, readonly number[]>): Promise<void> {
    // The broker of the simulation has no topic of progress.
    const topics = [...partitions.keys()].filter((topic) => topic !== 'progress');
    await this.#inTurn(() => this.#markEnds(topics));
  }

  async close(): Promise<void> {
    this.#producer = null;
  }

  /** Sends records to every partition and aborts them: they take offsets, and no reader sees them. */
  async #markEnds(topics: readonly TopicSuffix[]): Promise<void> {
    const { at, broker, process } = this.#options;
    const producer = this.#requireProducer();
    await dawdle(at, 2);
    if (topics.some((topic) => broker.partitionsOf(topic) === null)) throw this.#unknown('no such topic');
    const records = topics.flatMap((topic) =>
      SEAL_KEYS.map((key) => ({ topic, key, body: null, headers: {} })),
    );
    const sequences = this.#sequences;
    const written = broker.send(process, producer, { records, transaction: null, sequences });
    for (const each of written ?? []) this.#countSent(each);
    if (written === null || !broker.abort(producer)) throw this.#unknown('fenced');
  }

  #countSent({ topic, partition, count }: Written[number]): void {
    const name = `${topic}/${partition}`;
    this.#sequences.set(name, (this.#sequences.get(name) ?? 0) + count);
  }

  /** The producer does one thing at a time. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(task);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #requireProducer(): ProducerState {
    const { broker } = this.#options;
    if (this.#producer === null || !broker.isCurrent(this.#producer)) throw this.#unknown('no producer');
    return this.#producer;
  }

  #unknown(why: string): Error {
    this.#happened(why);
    if (this.#options.mistake !== 'reused') this.#producer = null;
    return simulatedError('KAFKA_OUTCOME_UNKNOWN');
  }

  #happened(what: string): void {
    this.#options.happened(`kafka: ${what}`);
  }
}

/** One for each partition. */
const SEAL_KEYS = [
  ...Map.groupBy(
    Array.from({ length: 8 }, (_, number) => `@seal-${number}`),
    partitionIndexOf,
  ).values(),
].flatMap(([key]) => key ?? []);

function toLogged(topic: TopicSuffix, partition: number, { offset, record }: Entry): LoggedRecord {
  const contentHash = record.headers['content-hash'];
  return {
    topic,
    partition,
    offset,
    key: record.key,
    value: record.body === null ? null : frame(schemaIdOf(topic), record.body),
    hash: contentHash === undefined ? null : Buffer.from(contentHash, 'hex'),
    mapping: record.headers[MAPPING_HEADER] ?? null,
  };
}

/** Like a registry: the schema that a value of the topic was written with; values of the changelog have none. */
export function schemaIdOf(topic: TopicSuffix): number | null {
  if (topic === STATE_TOPIC) return null;
  return ([...COLLECTIONS] as TopicSuffix[]).indexOf(topic) + 1;
}

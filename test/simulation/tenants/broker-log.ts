import { MAPPING_HEADER } from '../../../src/core/cloud-events.ts';
import { RollcallError } from '../../../src/errors.ts';
import { frame } from '../../unit/log/support/frame.ts';
import { kafkaError, commitError, RecordsLost } from '../../../src/log/kafka-errors.ts';
import type {
  Committed,
  LoggedRecord,
  LogReading,
  OutgoingRecord,
  Ownership,
  RollIntervals,
  TenantLog,
  TopicRange,
  Transaction,
} from '../../../src/log/log.ts';
import { partitionOf } from '../../../src/log/outgoing-batches.ts';
import type { TopicPartitions } from '../../../src/log/transaction-brokers.ts';
import type {
  AppendedBatch,
  PartitionBatch,
  TransactionalProducer,
  TransactionalProducerOptions,
} from '../../../src/log/transactional-producer.ts';
import { COLLECTIONS, STATE_TOPIC, type TopicSuffix } from '../../../src/model/collections.ts';
import {
  allOffsets,
  offsetsOf,
  offsetsWithout,
  withOffsets,
  type Offsets,
} from '../../../src/model/progress.ts';
import { partitionName, topicName } from '../../../src/model/topic-names.ts';
import { suffixOf } from '../../../src/recovery/topic-ends.ts';
import { SimulatedBatch } from '../cluster/simulated-batch.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';
import {
  idsSinceLoss,
  newestProgress,
  PARTITIONS,
  SCOPE,
  type Broker,
  type ProgressRecord,
} from './broker.ts';
import type { Entry, Partition } from './partition.ts';

/** A small one, so that some transactions take several sends. */
const MOST_IN_A_BATCH = 4;
const MOST_IN_A_READ = 6;
/** `delete.retention.ms` */
const REMOVALS_KEPT_MS = 7 * 24 * 3_600_000;
/** The producer's times are real ones, and those of the simulated brokers are so much shorter. */
const PRODUCER_TIME_FACTOR = 200;
const LONGEST_RETRY_PAUSE_MS = 5;
const PROGRESS = topicName(SCOPE, 'progress');

export interface BrokerLogOptions {
  readonly at: Surroundings;
  readonly broker: Broker;
  readonly process: number;
  readonly happened: (what: string) => void;
  readonly makeProducer: (options: TransactionalProducerOptions) => TransactionalProducer;
  /** `keeps its producer`: after a failure it aborts the transaction, and continues with the same producer. */
  readonly mistake?: 'keeps its producer' | 'forgets ownership' | undefined;
}

/**
 * The access of one process to the topics, through the real producer on simulated brokers, step by step as in KafkaLog and
 * TakeOver. The process may hang between two steps. Any failure of the producer ends the ownership. Records are compacted
 * meanwhile, and a read returns those of any partition next.
 */
export class BrokerLog implements TenantLog {
  readonly #options: BrokerLogOptions;
  readonly #lostTopics = new Set<TopicSuffix>();
  #producer: TransactionalProducer | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: BrokerLogOptions) {
    this.#options = options;
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    const { broker, process, mistake } = this.#options;
    if (mistake !== 'keeps its producer') this.#discard();
    const isKept = this.#producer !== null;
    broker.noteAttempt(process, mistake === 'forgets ownership');
    this.#requireNotSuperseded();
    signal.throwIfAborted();
    this.#producer ??= this.#newProducer();
    return this.#run(async (producer) => {
      if (!isKept) await producer.open();
      // It checks again now that no other process can commit: a newer one may have come in between.
      this.#requireNotSuperseded();
      const { transactions } = broker;
      const ownership = {
        progress: newestProgress(transactions),
        transactionIds: idsSinceLoss(transactions),
      };
      if (broker.owner !== process) await this.#claim(producer);
      return ownership;
    }, 'taking over the tenant');
  }

  commit(transaction: Transaction): Promise<Committed> {
    return this.#inTurn(async (producer) => {
      const { at, process } = this.#options;
      const { derived: derivedBefore = [] } = transaction;
      const sends = this.#sendsOf(transaction.records);
      await producer.begin(partitionsOf([...sends.flat(), { topic: PROGRESS, partition: 0 }]));
      let offsets = allOffsets([transaction.progress, ...derivedBefore]);
      for (const send of sends) offsets = this.#withLastOffsets(offsets, await producer.send(send));
      if (strikes(at, 0.02)) {
        this.#happened('held long');
        await at.time.sleep(50 + at.random.below(250));
      }
      const followers = derivedBefore.map(({ collection }) => collection);
      const progress = withOffsets(transaction.progress, offsetsWithout(offsets, followers));
      const derived = derivedBefore.map((each) => withOffsets(each, offsetsOf(offsets, each.collection)));
      await producer.send([progressBatch({ by: process, progress: [progress, ...derived] })]);
      await producer.commit().catch((error: unknown) => {
        throw commitError(error, 'committing');
      });
      for (const lost of transaction.lostTopics ?? []) this.#lostTopics.delete(lost);
      return { progress, derived, committedAtMs: at.time.now(), tookMs: 0 };
    }, 'committing');
  }

  async ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    const { at, broker } = this.#options;
    await dawdle(at, 1);
    return topics.map((topic) => {
      const isLost = this.#lostTopics.has(topic);
      const partitions = requireTopic(broker, topic);
      return {
        topic,
        partitions: partitions.map(({ low, stableEnd }) => ({ low, high: isLost ? 0 : stableEnd })),
      };
    });
  }

  async read(options: LogReading): Promise<void> {
    const { at, broker } = this.#options;
    const topics = options.from.map(({ topic }) => topic);
    await this.#appendEndMarkers(() => allPartitions(broker, topics));
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
      const batch = lane.splice(0, MOST_IN_A_READ);
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

  markEnds(partitions: ReadonlyMap<TopicSuffix, readonly number[]>): Promise<void> {
    const byName = new Map([...partitions].map(([topic, some]) => [topicName(SCOPE, topic), some]));
    return this.#appendEndMarkers(() => byName);
  }

  /** Sends a record to every partition and aborts them: they take offsets, and no reader sees them. */
  #appendEndMarkers(partitions: () => TopicPartitions): Promise<void> {
    return this.#inTurn(async (producer) => {
      const marked = partitions();
      const batches = [...marked].flatMap(([topic, some]) =>
        some.map((partition) => ({ topic, partition, batch: endMarker(topic) })),
      );
      if (batches.length === 0) return;
      await producer.begin(marked);
      await producer.send(batches);
      await producer.abort();
    }, 'appending end markers');
  }

  async #claim(producer: TransactionalProducer): Promise<void> {
    await producer.begin(new Map([[PROGRESS, [0]]]));
    await producer.send([progressBatch({ by: this.#options.process, progress: null })]);
    await producer.commit();
  }

  /** Arranges records into sends: each has one batch of a partition, and the order within each partition stays. */
  #sendsOf(records: readonly OutgoingRecord[]): readonly (readonly PartitionBatch[])[] {
    const sends: PartitionBatch[][] = [];
    for (const [topic, ofTopic] of Map.groupBy(records.map(withAllHeaders), (record) => record.topic)) {
      const partitions = Map.groupBy(ofTopic, ({ key }) => partitionOf(key, PARTITIONS));
      for (const [partition, all] of partitions) {
        for (let from = 0; from < all.length; from += MOST_IN_A_BATCH) {
          const batch = new SimulatedBatch(all.slice(from, from + MOST_IN_A_BATCH));
          (sends[from / MOST_IN_A_BATCH] ??= []).push({ topic: topicName(SCOPE, topic), partition, batch });
        }
      }
    }
    return sends;
  }

  #withLastOffsets(offsets: Offsets, appended: readonly AppendedBatch[]): Offsets {
    const result: Record<string, number> = { ...offsets };
    for (const { topic, partition, baseOffset, lastOffset } of appended) {
      const name = partitionName(topic, partition);
      // A recreated topic counts from 0 again.
      if (baseOffset <= (result[name] ?? -1)) {
        this.#lostTopics.add(suffixOf(name));
        throw new RecordsLost(topic);
      }
      result[name] = lastOffset;
    }
    return result;
  }

  /** The producer does one thing at a time. */
  #inTurn<T>(task: (producer: TransactionalProducer) => Promise<T>, doing: string): Promise<T> {
    const turn = this.#turn.then(() => this.#run(task, doing));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(task: (producer: TransactionalProducer) => Promise<T>, doing: string): Promise<T> {
    const producer = this.#producer;
    if (producer === null) throw this.#failed(simulatedError('KAFKA_NOT_SENT'));
    try {
      return await task(producer);
    } catch (error) {
      if (this.#options.mistake === 'keeps its producer') await producer.abort().catch(() => this.#discard());
      else this.#discard();
      throw this.#failed(kafkaError(error, doing));
    }
  }

  #newProducer(): TransactionalProducer {
    const { at, broker, makeProducer } = this.#options;
    return makeProducer({
      brokers: broker.cluster.connect(),
      transactionalId: `${SCOPE.topicPrefix}.${SCOPE.tenantId}`,
      now: () => at.time.now() * PRODUCER_TIME_FACTOR,
      sleep: (ms) => at.time.sleep(Math.min(ms, LONGEST_RETRY_PAUSE_MS)),
    });
  }

  #discard(): void {
    this.#producer?.close();
    this.#producer = null;
  }

  #requireNotSuperseded(): void {
    const { broker, process } = this.#options;
    if (broker.isSuperseded(process)) throw simulatedError('OWNERSHIP_LOST');
  }

  #failed(error: RollcallError): RollcallError {
    this.#happened(error.code);
    return error;
  }

  #happened(what: string): void {
    this.#options.happened(`kafka: ${what}`);
  }
}

function endMarker(topic: string): SimulatedBatch {
  return new SimulatedBatch([{ topic: suffixOf(`${topic}/`), key: '@seal', body: null, headers: {} }]);
}

function progressBatch(content: Pick<ProgressRecord, 'by' | 'progress'>): PartitionBatch {
  const all = [{ ...content, topic: 'progress', key: '@owner', body: null, headers: {} }] as const;
  return { topic: PROGRESS, partition: 0, batch: new SimulatedBatch(all) };
}

function partitionsOf(
  batches: readonly Pick<PartitionBatch, 'topic' | 'partition'>[],
): ReadonlyMap<string, readonly number[]> {
  const partitions = new Map<string, Set<number>>();
  for (const { topic, partition } of batches)
    partitions.set(topic, (partitions.get(topic) ?? new Set()).add(partition));
  return new Map([...partitions].map(([topic, some]) => [topic, [...some]]));
}

function withAllHeaders({ sharedHeaders, headers, ...rest }: OutgoingRecord): OutgoingRecord {
  return { ...rest, headers: { ...sharedHeaders, ...headers } };
}

function requireTopic(broker: Broker, topic: TopicSuffix): readonly Partition[] {
  const partitions = broker.partitionsOf(topic);
  if (partitions === null) throw simulatedError('KAFKA_TOPIC_MISSING');
  return partitions;
}

function allPartitions(broker: Broker, topics: readonly TopicSuffix[]): TopicPartitions {
  return new Map(topics.map((topic) => [topicName(SCOPE, topic), [...requireTopic(broker, topic).keys()]]));
}

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

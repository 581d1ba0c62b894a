import type { TopicSuffix } from '../model/collections.ts';
import {
  allOffsets,
  offsetsOf,
  offsetsWithout,
  withOffsets,
  type DecisionRecord,
  type Offsets,
  type Progress,
} from '../model/progress.ts';
import { partitionName } from '../model/topic-names.ts';
import { commitError, kafkaError, RecordsLost } from './kafka-errors.ts';
import type {
  Committed,
  LogReading,
  OutgoingRecord,
  Ownership,
  TenantLog,
  TopicRange,
  Transaction,
} from './log.ts';
import { kafkaTransactionBrokers } from './wire/kafka-transaction-brokers.ts';
import { OutgoingBatches, partitionOf } from './outgoing-batches.ts';
import { decisionHeaders, decisionKey, progressHeaders, progressValue } from './progress-codec.ts';
import { RecordBatch } from './wire/record-batch.ts';
import { TakeOver, type OwnerOptions } from './take-over.ts';
import { appendEndMarkers, tenantProducer, type EndMarkers, type TenantProducer } from './tenant-producer.ts';
import { TenantTopics } from './tenant-topics.ts';
import type { TransactionalProducer } from './transactional-producer.ts';

/**
 * The log of a tenant. One transactional producer, whose `transactional.id` is `<prefix>.<tenant>`, writes its topics.
 */
export class KafkaLog extends TenantTopics implements TenantLog {
  readonly #options: OwnerOptions;
  readonly #producer: TenantProducer;
  readonly #takeOver: TakeOver;
  /**
   * The number of partitions of each topic when this object was made. If somebody adds partitions meanwhile, no key
   * changes its partition.
   */
  readonly #partitions: ReadonlyMap<string, number>;
  /**
   * Topics that turned out to have lost records. They stay here until a record in `progress` records the loss, because
   * later records would hide it.
   */
  readonly #lostTopics = new Set<string>();
  /**
   * The last offset in `progress` that this process has written or read. If a new record has no higher offset, records
   * were lost.
   */
  #progressEnd = -1;

  /** `onThrottled`: see {@link kafkaTransactionBrokers}. */
  constructor(options: OwnerOptions & { readonly onThrottled: (ms: number) => void }) {
    super(options);
    this.#options = options;
    const brokers = kafkaTransactionBrokers(options.kafka, options.onThrottled);
    this.#producer = tenantProducer(brokers, this.id, options.kafka.transactions);
    this.#takeOver = new TakeOver(options, this, this.#producer);
    this.#partitions = new Map(options.wanted.map(({ name, partitions }) => [name, partitions]));
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    const { ownership, progressEnd } = await this.#takeOver.own(signal);
    this.#progressEnd = progressEnd;
    const progress = new Map(ownership.progress);
    for (const [name, each] of progress) progress.set(name, await this.#options.schemas.noteLost(each));
    return { ...ownership, progress };
  }

  async commit(transaction: Transaction): Promise<Committed> {
    const { schemas, now } = this.#options;
    schemas.requireNoneLost();
    const { derived: derivedBefore = [], lostTopics = [] } = transaction;
    let isCommitRequested = false;
    return this.#producer.inTurn(
      async (producer) => {
        const startedAtMs = now();
        const before = allOffsets([transaction.progress, ...derivedBefore]);
        const outgoing = this.#encode(transaction.records);
        const topic = this.name('progress');
        await producer.begin(new Map([...outgoing.partitions, [topic, [0]]]));
        const offsets = await sendAll(producer, outgoing, before);
        // Progress needs its own send, because it contains the offsets of the data before it (ADR 1).
        const derivedNames = derivedBefore.map(({ collection }) => collection);
        const progress = withOffsets(transaction.progress, offsetsWithout(offsets, derivedNames));
        const derived = derivedBefore.map((each) => withOffsets(each, offsetsOf(offsets, each.collection)));
        const batch = this.#progressBatch([progress, ...derived], transaction.decisions);
        const [appended] = await producer.send([{ topic, partition: 0, batch }]);
        const progressEnd = appended?.baseOffset ?? Number.NaN;
        if (!(progressEnd > this.#progressEnd)) throw new RecordsLost(topic);
        isCommitRequested = true;
        await producer.commit();
        this.#progressEnd = progressEnd;
        for (const lost of lostTopics) this.#lostTopics.delete(this.name(lost));
        return { progress, derived, committedAtMs: now(), tookMs: now() - startedAtMs };
      },
      (error) => {
        if (error instanceof RecordsLost) this.#lostTopics.add(error.topic);
        const { collection, sequence } = transaction.progress;
        const explain = isCommitRequested ? commitError : kafkaError;
        return explain(error, `committing transaction ${sequence} of ${collection}`);
      },
    );
  }

  #progressBatch(all: readonly Progress[], decisions: readonly DecisionRecord[] = []): RecordBatch {
    const { encodeProgress, timeZone, tenantId, schemas } = this.#options;
    const batch = new RecordBatch();
    for (const progress of all) {
      const body = encodeProgress(progressValue(progress, timeZone));
      const headers = progressHeaders({
        tenantId,
        progress,
        body,
        schemaId: schemas.idOf(progress.collection),
      });
      batch.append({ key: progress.collection, body, schemaId: schemas.idOf('progress'), headers });
    }
    for (const decision of decisions) {
      const key = decisionKey(decision);
      const body = encodeProgress({ collection: key, timeZone });
      const id = `${all[0]?.transactionId}-${decision.collection}-${decision.kind}`;
      const headers = decisionHeaders({ tenantId, id, body }, decision);
      batch.append({ key, body, schemaId: schemas.idOf('progress'), headers });
    }
    return batch;
  }

  #encode(records: readonly OutgoingRecord[]): OutgoingBatches {
    const batches = new OutgoingBatches();
    for (const [suffix, some] of Map.groupBy(records, (record) => record.topic)) {
      const topic = this.name(suffix);
      const partitions = this.#partitions.get(topic);
      if (partitions === undefined) throw new Error(`${topic} is not configured`);
      const schemaId = this.#options.schemas.idOf(suffix);
      for (const { key, body, headers, sharedHeaders } of some) {
        const record = { key, body, schemaId, headers, sharedHeaders };
        batches.add(topic, partitionOf(key, partitions), record);
      }
    }
    return batches;
  }

  override async ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    const ranges = await super.ranges(topics);
    return ranges.map(({ topic, partitions }) => {
      const hasLost = this.#lostTopics.has(this.name(topic));
      return { topic, partitions: hasLost ? partitions.map(({ low }) => ({ low, high: 0 })) : partitions };
    });
  }

  async read(reading: LogReading): Promise<void> {
    if (reading.from.length === 0) return;
    const topics = reading.from.map(({ topic }) => topic);
    const markers = await this.#appendEndMarkers(() => this.allPartitions(topics));
    await this.readUpTo(markers, reading);
  }

  async markEnds(partitions: ReadonlyMap<TopicSuffix, readonly number[]>): Promise<void> {
    const byName = new Map([...partitions].map(([suffix, some]) => [this.name(suffix), some]));
    await this.#appendEndMarkers(() => Promise.resolve(byName));
  }

  #appendEndMarkers(partitions: () => Promise<ReadonlyMap<string, readonly number[]>>): Promise<EndMarkers> {
    return this.#producer.inTurn(
      async (producer) => appendEndMarkers(producer, await partitions()),
      (error) => kafkaError(error, 'appending end markers'),
    );
  }
}

/**
 * Sends all batches. Returns the offsets of `before`, in which each partition that was sent to has its new last offset.
 */
async function sendAll(
  producer: TransactionalProducer,
  outgoing: OutgoingBatches,
  before: Offsets,
): Promise<Offsets> {
  const offsets: Record<string, number> = { ...before };
  for (const send of outgoing.sends()) {
    for (const { topic, partition, baseOffset, lastOffset } of await producer.send(send)) {
      const name = partitionName(topic, partition);
      // A recreated topic counts from 0 again. If such an offset were committed, it would look like a continuation.
      if (baseOffset <= (offsets[name] ?? -1)) throw new RecordsLost(topic);
      offsets[name] = lastOffset;
    }
    // The memory is released only after an answer: a send that failed may still be on its way.
    for (const { batch } of send) batch.release();
  }
  return offsets;
}

import type { Admin, Kafka, KafkaMessage, Producer } from 'kafkajs';
import type { CompactionSettings, EndsToMark } from '../core/segment-rolls.ts';
import { RollcallError } from '../errors.ts';
import type { TopicSuffix } from '../model/collections.ts';
import {
  allOffsets,
  offsetsOf,
  offsetsWithout,
  withOffsets,
  type Offsets,
  type Progress,
} from '../model/progress.ts';
import { partitionName, topicName } from '../model/topics.ts';
import { FIRST_SEQUENCE_HEADER, MAPPING_HEADER } from '../core/cloud-events.ts';
import { fetchCompactionSettings } from './compaction-settings.ts';
import { appendEndMarkers, type EndMarkers } from './end-markers.ts';
import { frame } from './framing.ts';
import { innermost, kafkaError, outcomeUnknown, tooLarge } from './kafka-errors.ts';
import { fetchOffsets, fetchOffsetsSince } from './topic-offsets.ts';
import { readTenantProgress, type LoggedTenant } from './tenant-progress.ts';
import { LostRecords, withLastOffsets } from './written-offsets.ts';
import { readStretches, type Stretch } from './kafka-reader.ts';
import type {
  Committed,
  LoggedRecord,
  OutgoingRecord,
  Ownership,
  TenantLog,
  TopicRange,
  Transaction,
} from './log.ts';
import {
  createKeyPartitioner,
  recordBytes,
  splitIntoSends,
  type AddressedRecord,
} from './outgoing-batches.ts';
import { OWNER_KEY, ownerHeaders, progressHeaders, type ProgressCodec } from './progress-codec.ts';

export interface KafkaLogOptions {
  readonly kafka: Kafka;
  readonly topicPrefix: string;
  readonly tenantId: string;
  /** Registry id of each topic's value schema. */
  readonly schemaIds: ReadonlyMap<TopicSuffix, number>;
  readonly progressCodec: ProgressCodec;
  /** Names this process for as long as it lives. */
  readonly owner: string;
  readonly now: () => number;
  readonly randomId: () => string;
}

/** A tenant's topics in Kafka, written through one transactional producer (KIP-98; `transactional.id` = `<p>.<t>`). */
export function createKafkaLog(options: KafkaLogOptions): TenantLog {
  return new KafkaLog(options);
}

class KafkaLog implements TenantLog {
  readonly #options: KafkaLogOptions;
  readonly #partitionOf = createKeyPartitioner();
  readonly #admin: Admin;
  readonly #partitionCounts = new Map<string, number>();
  /** Topics seen to begin anew, until a progress record says so: what was appended since hides it. */
  readonly #lostTopics = new Set<string>();
  readonly #removedAt: Record<string, number> = {};
  /** Offset of the last record in `progress` that this producer wrote. */
  #lastTold = -1;
  #adminConnected = false;
  #producer: Producer | null = null;
  /** Where `progress` ended before this process first tried to own: who stands beyond came later. */
  #progressEndAtFirst: number | null = null;
  #hasOwned = false;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(options: KafkaLogOptions) {
    this.#options = options;
    this.#admin = options.kafka.admin();
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    await this.#discardProducer();
    await this.#connectAdmin();
    await this.#giveUpIfSuperseded(signal);
    signal.throwIfAborted();
    const ownedSinceMs = this.#options.now();
    const fencedAt = await this.#fence();
    const told = await this.#readProgress({ to: fencedAt + 1, signal });
    // Whoever was fenced, or slow, has to look again once nobody else can commit: a newer one may have come in between.
    if (this.#isSupersededBy(told)) throw this.#superseded();
    const { owner } = this.#options;
    this.#lastTold = told.owner === owner ? fencedAt : await this.#claim(ownedSinceMs, fencedAt);
    this.#hasOwned = true;
    return { ...told, owner };
  }

  /**
   * Init of the producer fences older ones and settles what they left open. Returns the offset of a record in `progress`
   * before which nothing is undecided any more. It is aborted: one who turns out to be superseded leaves no trace that the
   * newer process could take for somebody who came after it.
   */
  async #fence(): Promise<number> {
    const { kafka, topicPrefix, tenantId } = this.#options;
    this.#producer = kafka.producer({
      transactionalId: `${topicPrefix}.${tenantId}`,
      idempotent: true,
      maxInFlightRequests: 1,
      // A topic that was deleted is made again as the contract has it, not by the brokers' defaults.
      allowAutoTopicCreation: false,
      transactionTimeout: 60_000,
      // Everything comes with its partition; the partitioner only has to pass it on.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
    return this.#takingOver(async (producer) => {
      await producer.connect();
      const markers = await appendEndMarkers(producer, await this.#allPartitions(['progress']));
      return offsetAfter(-1, markers.get(this.#topic('progress'))?.[0]?.offset);
    });
  }

  /** Tells whoever is fenced who came; returns the record's offset. */
  #claim(ownedSinceMs: number, fencedAt: number): Promise<number> {
    const { progressCodec, owner, randomId, tenantId } = this.#options;
    const body = progressCodec.encodeOwner({ owner, ownedSinceMs });
    const message = {
      key: OWNER_KEY,
      value: frame(this.#schemaId('progress'), body),
      partition: 0,
      headers: ownerHeaders({ tenantId, id: randomId(), body }),
    };
    return this.#takingOver(async (producer) => {
      const transaction = await producer.transaction();
      const [written] = await transaction.send({ topic: this.#topic('progress'), messages: [message] });
      await transaction.commit();
      return offsetAfter(fencedAt, Number(written?.baseOffset));
    });
  }

  async #takingOver(task: (producer: Producer) => Promise<number>): Promise<number> {
    try {
      if (this.#producer === null) throw new Error('no producer');
      return await task(this.#producer);
    } catch (error) {
      await this.#discardProducer();
      throw kafkaError(error, `taking over tenant ${this.#options.tenantId}`);
    }
  }

  /**
   * Who re-inits after an ambiguous failure would fence a newer process: so first look who owns the tenant. That holds
   * for a first taking over that failed, too; whoever owned before it is who was to be superseded.
   */
  async #giveUpIfSuperseded(signal: AbortSignal): Promise<void> {
    const [range] = await fetchOffsets(this.#admin, this.#topic('progress'));
    const end = range?.high ?? 0;
    if (this.#progressEndAtFirst === null) {
      this.#progressEndAtFirst = end;
      return;
    }
    if (this.#isSupersededBy(await this.#readProgress({ to: end, signal }))) throw this.#superseded();
  }

  /** Who has owned was there before whoever else is named, wherever `progress` may begin anew. */
  #isSupersededBy({ owner, ownerOffset }: LoggedTenant): boolean {
    if (owner === null || owner === this.#options.owner) return false;
    return this.#hasOwned || ownerOffset >= (this.#progressEndAtFirst ?? 0);
  }

  #superseded(): RollcallError {
    return new RollcallError(
      'OWNERSHIP_LOST',
      `Another process has taken over tenant ${this.#options.tenantId}`,
      {
        remedy:
          'Run one process a tenant; this one ends, the newer one goes on. In Kubernetes use strategy Recreate.',
      },
    );
  }

  #readProgress({ to, signal }: { to: number; signal: AbortSignal }): Promise<LoggedTenant> {
    const { kafka, progressCodec } = this.#options;
    return readTenantProgress({
      kafka,
      groupIdPrefix: this.#groupIdPrefix,
      topic: this.#topic('progress'),
      codec: progressCodec,
      to,
      signal,
    });
  }

  commit(transaction: Transaction): Promise<Committed> {
    return this.#inTurn(() => this.#commit(transaction));
  }

  /** The producer does one thing at a time; a reading that begins by marking ends must not fall into a commit. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(task);
    this.#lastTurn = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  async #commit(transaction: Transaction): Promise<Committed> {
    const producer = this.#producer;
    if (producer === null) throw outcomeUnknown(new Error('no producer'), 'not owned');
    const { derived: follows = [] } = transaction;
    let offsets = allOffsets([transaction.progress, ...follows]);
    try {
      const addressed = await this.#address(transaction.records);
      const kafkaTransaction = await producer.transaction();
      for (const topicMessages of splitIntoSends(addressed)) {
        const written = await kafkaTransaction.sendBatch({ acks: -1, topicMessages });
        offsets = withLastOffsets(offsets, topicMessages, written);
      }
      // In a send of its own, because it tells the offsets of the data it stands for.
      const followers = follows.map(({ collection }) => collection);
      const progress = withOffsets(transaction.progress, offsetsWithout(offsets, followers));
      const derived = follows.map((each) => withOffsets(each, offsetsOf(offsets, each.collection)));
      const messages = [progress, ...derived].map((each) => this.#progressMessage(each));
      const topic = this.#topic('progress');
      const [told] = await kafkaTransaction.send({ acks: -1, topic, messages });
      const toldAt = Number(told?.baseOffset ?? Number.NaN);
      if (!(toldAt > this.#lastTold)) throw new LostRecords(topic);
      await kafkaTransaction.commit();
      this.#lastTold = toldAt;
      for (const lost of transaction.lostTopics ?? []) this.#lostTopics.delete(this.#topic(lost));
      return { progress, derived, committedAtMs: this.#options.now() };
    } catch (error) {
      if (error instanceof LostRecords) this.#lostTopics.add(error.topic);
      await this.#discardProducer();
      if (innermost(error).type === 'MESSAGE_TOO_LARGE')
        throw tooLarge(error, transaction.progress.collection);
      throw outcomeUnknown(error, `${transaction.progress.collection} ${transaction.progress.sequence}`);
    }
  }

  remove(records: readonly OutgoingRecord[]): Promise<void> {
    return this.#inTurn(async () => {
      const producer = this.#producer;
      if (producer === null) throw outcomeUnknown(new Error('no producer'), 'not owned');
      try {
        const addressed = await this.#address(records);
        const transaction = await producer.transaction();
        for (const topicMessages of splitIntoSends(addressed)) {
          const written = await transaction.sendBatch({ acks: -1, topicMessages });
          for (const { topicName: topic, partition, baseOffset } of written)
            this.#removedAt[partitionName(topic, partition)] = Number(baseOffset);
        }
        await transaction.commit();
      } catch (error) {
        await this.#discardProducer();
        throw outcomeUnknown(error, 'removing what is no longer mirrored');
      }
    });
  }

  #progressMessage(progress: Progress): AddressedRecord['message'] {
    const body = this.#options.progressCodec.encode(progress);
    return {
      key: progress.collection,
      value: frame(this.#schemaId('progress'), body),
      partition: 0,
      headers: progressHeaders({ tenantId: this.#options.tenantId, progress, body }),
    };
  }

  async #address(records: readonly OutgoingRecord[]): Promise<AddressedRecord[]> {
    const addressed: AddressedRecord[] = [];
    for (const record of records) {
      const topic = this.#topic(record.topic);
      // Awaited only the first time a topic is met.
      const partitions = this.#partitionCounts.get(topic) ?? (await this.#countPartitions(topic));
      const partition = this.#partitionOf(record.key, partitions);
      const message = {
        key: record.key,
        value: record.body === null ? null : frame(this.#schemaId(record.topic), record.body),
        partition,
        headers: record.headers,
      };
      addressed.push({ topic, partition, message, bytes: recordBytes(message) });
    }
    return addressed;
  }

  removedAt(): Offsets {
    return { ...this.#removedAt };
  }

  async ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    await this.#connectAdmin();
    return Promise.all(
      topics.map(async (topic) => ({
        topic,
        partitions: (await fetchOffsets(this.#admin, this.#topic(topic))).map(({ low, high }) => ({
          low,
          high: this.#lostTopics.has(this.#topic(topic)) ? 0 : high,
        })),
      })),
    );
  }

  async offsetsSince(suffix: TopicSuffix, atMs: number): Promise<Offsets> {
    await this.#connectAdmin();
    const topic = this.#topic(suffix);
    const offsets = await fetchOffsetsSince(this.#admin, topic, atMs);
    return Object.fromEntries(
      offsets.map(({ partition, offset }) => [partitionName(topic, partition), offset]),
    );
  }

  async read(options: {
    from: readonly { topic: TopicSuffix; after: Offsets }[];
    onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
    signal: AbortSignal;
  }): Promise<void> {
    if (options.from.length === 0) return;
    const markers = await this.#inTurn(() => this.#markEnds(options.from.map(({ topic }) => topic)));
    const stretches: Stretch[] = [];
    const suffixes = new Map<string, TopicSuffix>();
    for (const { topic: suffix, after } of options.from) {
      const topic = this.#topic(suffix);
      suffixes.set(topic, suffix);
      for (const { partition, offset } of markers.get(topic) ?? []) {
        stretches.push({
          topic,
          partition,
          from: (after[partitionName(topic, partition)] ?? -1) + 1,
          to: offset + 1,
        });
      }
    }
    await readStretches({
      kafka: this.#options.kafka,
      groupIdPrefix: this.#groupIdPrefix,
      stretches,
      onMessages: ({ topic, partition, messages }) => {
        const suffix = suffixes.get(topic);
        if (suffix === undefined) return Promise.resolve();
        return options.onBatch(messages.map((message) => toLoggedRecord(suffix, partition, message)));
      },
      signal: options.signal,
    });
  }

  async compactionSettings(
    suffixes: readonly TopicSuffix[],
  ): Promise<ReadonlyMap<TopicSuffix, CompactionSettings>> {
    await this.#connectAdmin();
    const names = new Map(suffixes.map((suffix) => [this.#topic(suffix), suffix]));
    const settings = await fetchCompactionSettings(this.#admin, [...names.keys()]);
    return new Map(
      [...settings].flatMap(([name, found]) => {
        const suffix = names.get(name);
        return suffix === undefined ? [] : [[suffix, found]];
      }),
    );
  }

  async markEnds(partitions: EndsToMark): Promise<void> {
    const byName = new Map([...partitions].map(([suffix, some]) => [this.#topic(suffix), some]));
    await this.#inTurn(() => this.#appendMarkers(() => Promise.resolve(byName)));
  }

  /** Marks the ends of all partitions of topics; returns where the markers lie. */
  #markEnds(suffixes: readonly TopicSuffix[]): Promise<EndMarkers> {
    return this.#appendMarkers(() => this.#allPartitions(suffixes));
  }

  async #appendMarkers(
    partitions: () => Promise<ReadonlyMap<string, readonly number[]>>,
  ): Promise<EndMarkers> {
    const producer = this.#producer;
    if (producer === null) throw outcomeUnknown(new Error('no producer'), 'not owned');
    try {
      return await appendEndMarkers(producer, await partitions());
    } catch (error) {
      await this.#discardProducer();
      throw outcomeUnknown(error, 'marking the ends of the topics');
    }
  }

  async #allPartitions(suffixes: readonly TopicSuffix[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const all = await Promise.all(
      suffixes.map(async (suffix) => {
        const topic = this.#topic(suffix);
        const count = await this.#countPartitions(topic);
        return [topic, Array.from({ length: count }, (_, partition) => partition)] as const;
      }),
    );
    return new Map(all);
  }

  async close(): Promise<void> {
    await this.#discardProducer();
    if (this.#adminConnected) await this.#admin.disconnect().catch(() => undefined);
    this.#adminConnected = false;
  }

  /**
   * A producer whose send or commit was rejected must never be used again: kafkajs rolls its sequence back, and if the
   * broker had taken the batch after all, the next one of that size passes for a repetition and is lost.
   */
  async #discardProducer(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    await producer?.disconnect().catch(() => undefined);
  }

  async #connectAdmin(): Promise<void> {
    if (this.#adminConnected) return;
    try {
      await this.#admin.connect();
      this.#adminConnected = true;
    } catch (error) {
      throw kafkaError(error, 'connecting');
    }
  }

  async #countPartitions(topic: string): Promise<number> {
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
    const count = topics[0]?.partitions.length ?? 0;
    this.#partitionCounts.set(topic, count);
    return count;
  }

  get #groupIdPrefix(): string {
    return `${this.#options.topicPrefix}.${this.#options.tenantId}`;
  }

  #topic(suffix: TopicSuffix): string {
    return topicName(this.#options, suffix);
  }

  #schemaId(suffix: TopicSuffix): number {
    const id = this.#options.schemaIds.get(suffix);
    if (id === undefined) throw new Error(`no schema was registered for ${suffix}`);
    return id;
  }
}

/** What was written must lie behind what was there: an offset that says nothing would pass for an empty log. */
function offsetAfter(before: number, offset: number | undefined): number {
  if (offset !== undefined && offset > before) return offset;
  throw new Error(`the brokers answered a write with offset ${offset}`);
}

function toLoggedRecord(topic: TopicSuffix, partition: number, message: KafkaMessage): LoggedRecord {
  const header = message.headers?.['content-hash'];
  const first = message.headers?.[FIRST_SEQUENCE_HEADER];
  const mapping = message.headers?.[MAPPING_HEADER];
  return {
    topic,
    partition,
    offset: Number(message.offset),
    publishedAtMs: Number(message.timestamp),
    key: message.key?.toString('utf8') ?? '',
    value: message.value,
    hash: header === undefined ? null : Buffer.from(String(header), 'hex'),
    firstSequence: first === undefined ? null : Number(first),
    mapping: mapping === undefined ? null : String(mapping),
  };
}

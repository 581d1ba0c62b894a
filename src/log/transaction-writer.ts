import type { ProducerBatch } from 'kafkajs';
import type { RollcallError } from '../errors.ts';
import {
  allOffsets,
  offsetsOf,
  offsetsWithout,
  withOffsets,
  type Offsets,
  type Progress,
} from '../model/progress.ts';
import { innermost, outcomeUnknown, tooLarge } from './kafka-errors.ts';
import type { Committed, OutgoingRecord, Transaction } from './log.ts';
import type { WantedTopic } from './manage-topics.ts';
import { asMessages, createKeyPartitioner, OutgoingBatches, type TopicBatches } from './outgoing-batches.ts';
import { RecordBatch } from './record-batch.ts';
import { progressHeaders, type ProgressCodec } from './progress-codec.ts';
import type { TenantProducer } from './tenant-producer.ts';
import type { TenantSchemas } from './tenant-schemas.ts';
import type { TenantTopics } from './tenant-topics.ts';
import { LostRecords, withLastOffsets } from './written-offsets.ts';

export interface TransactionWriterParts {
  readonly producer: TenantProducer;
  readonly topics: TenantTopics;
  readonly wanted: readonly WantedTopic[];
  readonly schemas: Pick<TenantSchemas, 'idOf'>;
  readonly progressCodec: ProgressCodec;
  readonly tenantId: string;
  readonly now: () => number;
}

/** Commits transactions, and keeps what no progress record contains: the topics that lost records, and the offsets of removals. */
export class TransactionWriter {
  readonly #parts: TransactionWriterParts;
  readonly #partitionOf = createKeyPartitioner();
  /** By topic, as at its creation: a key must not change its partition when somebody adds partitions meanwhile. */
  readonly #partitions: ReadonlyMap<string, number>;
  /** Topics that turned out to begin again, until a progress record records the loss: later records would hide it. */
  readonly #lostTopics = new Set<string>();
  readonly #removedAt: Record<string, number> = {};
  /** Offset of the last record in `progress` that this process wrote. */
  #progressEnd = -1;

  constructor(parts: TransactionWriterParts) {
    this.#parts = parts;
    this.#partitions = new Map(parts.wanted.map(({ name, partitions }) => [name, partitions]));
  }

  /** Requires every later record in `progress` to have an offset above this one. */
  continueAfter(progressEnd: number): void {
    this.#progressEnd = progressEnd;
  }

  hasLost(topic: string): boolean {
    return this.#lostTopics.has(topic);
  }

  removedAt(): Offsets {
    return { ...this.#removedAt };
  }

  commit(transaction: Transaction): Promise<Committed> {
    const { producer, topics, now } = this.#parts;
    const { derived: derivedBefore = [], lostTopics = [] } = transaction;
    return producer.inTurn(
      async (current) => {
        let offsets = allOffsets([transaction.progress, ...derivedBefore]);
        const outgoing = this.#encode(transaction.records);
        const kafkaTransaction = await current.transaction();
        for (const send of outgoing.sends()) {
          const written = await kafkaTransaction.sendBatch(requestOf(send));
          offsets = withLastOffsets(offsets, send, written);
          release(send);
        }
        // Progress needs its own send, because it contains the offsets of the data before it (ADR 1).
        const derivedNames = derivedBefore.map(({ collection }) => collection);
        const progress = withOffsets(transaction.progress, offsetsWithout(offsets, derivedNames));
        const derived = derivedBefore.map((each) => withOffsets(each, offsetsOf(offsets, each.collection)));
        const topic = topics.name('progress');
        const batches = new Map([[0, this.#progressBatch([progress, ...derived])]]);
        const [answer] = await kafkaTransaction.send({
          acks: -1,
          topic,
          messages: asMessages({ topic, batches }),
        });
        const progressEnd = Number(answer?.baseOffset ?? Number.NaN);
        if (!(progressEnd > this.#progressEnd)) throw new LostRecords(topic);
        await kafkaTransaction.commit();
        this.#progressEnd = progressEnd;
        for (const lost of lostTopics) this.#lostTopics.delete(topics.name(lost));
        return { progress, derived, committedAtMs: now() };
      },
      (error) => this.#commitFailure(error, transaction.progress),
    );
  }

  #commitFailure(error: unknown, { collection, sequence }: Progress): RollcallError {
    if (error instanceof LostRecords) this.#lostTopics.add(error.topic);
    return innermost(error).type === 'MESSAGE_TOO_LARGE'
      ? tooLarge(error, collection)
      : outcomeUnknown(error, `transaction ${sequence} of ${collection}`);
  }

  remove(records: readonly OutgoingRecord[]): Promise<void> {
    return this.#parts.producer.inTurn(
      async (producer) => {
        const batches = this.#encode(records);
        const transaction = await producer.transaction();
        for (const send of batches.sends()) {
          const written = await transaction.sendBatch(requestOf(send));
          Object.assign(this.#removedAt, withLastOffsets({}, send, written));
          release(send);
        }
        await transaction.commit();
      },
      (error) => outcomeUnknown(error, 'removing records that are no longer mirrored'),
    );
  }

  #progressBatch(all: readonly Progress[]): RecordBatch {
    const { progressCodec, tenantId, schemas } = this.#parts;
    const batch = new RecordBatch();
    for (const progress of all) {
      const body = progressCodec.encode(progress);
      const schemaId = schemas.idOf(progress.collection);
      const headers = progressHeaders({ tenantId, progress, body, schemaId });
      batch.append({ key: progress.collection, body, schemaId: schemas.idOf('progress'), headers });
    }
    return batch;
  }

  #encode(records: readonly OutgoingRecord[]): OutgoingBatches {
    const { topics, schemas } = this.#parts;
    const batches = new OutgoingBatches();
    for (const { topic: suffix, key, body, headers } of records) {
      const topic = topics.name(suffix);
      const partitions = this.#partitions.get(topic);
      if (partitions === undefined) throw new Error(`${topic} is not configured`);
      const partition = this.#partitionOf(key, partitions);
      batches.add(topic, partition, { key, body, schemaId: schemas.idOf(suffix), headers });
    }
    return batches;
  }
}

/** Only after an answer: a send that failed may still be on its way. */
function release(send: readonly TopicBatches[]): void {
  for (const { batches } of send) for (const batch of batches.values()) batch.release();
}

function requestOf(send: readonly TopicBatches[]): ProducerBatch {
  const topicMessages = send.map((each) => ({ topic: each.topic, messages: asMessages(each) }));
  return { acks: -1, topicMessages };
}

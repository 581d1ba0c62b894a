import { hash } from 'node:crypto';
import { MAPPING_HEADER } from '../../../src/core/cloud-events.ts';
import type { RollIntervals } from '../../../src/core/segment-rolls.ts';
import type { Offsets } from '../../../src/model/progress.ts';
import { COLLECTIONS, STATE_TOPIC, type TopicSuffix } from '../../../src/model/collections.ts';
import type {
  Committed,
  LoggedRecord,
  Ownership,
  TenantLog,
  TopicRange,
  Transaction,
} from '../../../src/log/log.ts';
import { frame } from '../../../src/log/framing.ts';
import { nextOffset, type SimulatedTopics, type StoredRecord } from './simulated-topics.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from './surroundings.ts';

const BATCH_RECORDS = 5;
const PARTITIONS = 3;
const DAY_MS = 24 * 3_600_000;
/** `delete.retention.ms` */
const REMOVALS_KEPT_MS = 7 * DAY_MS;

/**
 * `plain`: compaction leaves the newest record of every key and any others, and topics are read one after another.
 * `partitioned`: compaction leaves the newest record of each key up to some point, and everything after it. A read then
 * returns records of any partition of any topic next, in the order of that partition only.
 */
export type LogKind = 'plain' | 'partitioned';

/**
 * The access of one process to the topics, which the next owner fences. A commit may fail before it arrives, after it was
 * applied, or with an outcome that is decided only later; the error is always the same, and ends this ownership. A read
 * may stop early, and finds only what an early compaction has left.
 */
export class SimulatedLog implements TenantLog {
  readonly #at: Surroundings;
  readonly #topics: SimulatedTopics;
  readonly #process: number;
  readonly #kind: LogKind;
  #epoch: number | null = null;
  #ownedBefore = false;

  constructor(at: Surroundings, topics: SimulatedTopics, process: number, kind: LogKind = 'plain') {
    this.#kind = kind;
    this.#at = at;
    this.#topics = topics;
    this.#process = process;
  }

  async own(): Promise<Ownership> {
    const topics = this.#topics;
    this.#epoch = null;
    await dawdle(this.#at, 4);
    if (this.#ownedBefore && topics.owner !== this.#process) throw simulatedError('OWNERSHIP_LOST');
    const epoch = topics.fence();
    await dawdle(this.#at, 3);
    if (epoch !== topics.epoch) throw simulatedError('KAFKA_UNREACHABLE');
    topics.noteOwner(this.#process);
    this.#ownedBefore = true;
    this.#epoch = epoch;
    await dawdle(this.#at, 5);
    return {
      owner: `process ${this.#process}`,
      progress: topics.newestProgress(),
      transactionIds: topics.transactionIds(),
    };
  }

  async commit(transaction: Transaction): Promise<Committed> {
    this.#requireOwned();
    await dawdle(this.#at, 6);
    this.#requireOwned();
    if (strikes(this.#at, 0.04)) throw this.#outcomeUnknown();
    if (this.#topics.hasLost(transaction)) throw this.#outcomeUnknown();
    if (strikes(this.#at, 0.02)) {
      this.#topics.leaveUndecided(this.#process, transaction);
      throw this.#outcomeUnknown();
    }
    const committed = this.#topics.append(this.#process, transaction);
    if (strikes(this.#at, 0.04)) throw this.#outcomeUnknown();
    await dawdle(this.#at, 6);
    return { ...committed, committedAtMs: this.#at.time.now(), tookMs: 0 };
  }

  async ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    return topics.map((topic) => ({
      topic,
      partitions: [{ low: 0, high: this.#topics.recordsOf(topic).length }],
    }));
  }

  async read(options: {
    from: readonly { topic: TopicSuffix; after: Offsets }[];
    onBatch: (records: readonly LoggedRecord[]) => Promise<void>;
    signal: AbortSignal;
  }): Promise<void> {
    this.#requireOwned();
    const lanes = options.from.flatMap(({ topic, after }) => {
      const left = this.#compacted(topic, nextOffset(topic, after));
      return this.#kind === 'plain' ? [left] : partitioned(left);
    });
    while (lanes.length > 0) {
      const lane = this.#kind === 'plain' ? lanes[0] : this.#at.random.pick(lanes);
      const batch = lane?.splice(0, BATCH_RECORDS) ?? [];
      if (batch.length === 0) {
        lanes.splice(lanes.indexOf(lane ?? []), 1);
        continue;
      }
      await dawdle(this.#at, 1);
      options.signal.throwIfAborted();
      if (strikes(this.#at, 0.02)) throw simulatedError('KAFKA_UNREACHABLE');
      await options.onBatch(batch);
    }
  }

  async rollIntervals(topics: readonly TopicSuffix[]): Promise<RollIntervals> {
    return new Map(topics.map((topic) => [topic, DAY_MS]));
  }

  async markEnds(): Promise<void> {
    this.#requireOwned();
  }

  async close(): Promise<void> {
    this.#epoch = null;
  }

  #compacted(topic: TopicSuffix, from: number): LoggedRecord[] {
    const records = this.#topics.recordsOf(topic);
    const isLeft = this.#kind === 'plain' ? this.#leftAtRandom(records) : this.#leftByKafka(records);
    return records
      .map((record, offset) => toLogged(record, offset))
      .slice(from)
      .filter(isLeft);
  }

  #leftAtRandom(records: readonly StoredRecord[]): (record: LoggedRecord) => boolean {
    const newest = new Map(records.map(({ key }, offset) => [key, offset]));
    const { random } = this.#at;
    const isCompacted = random.chance(0.5);
    return ({ key, offset }) => !isCompacted || newest.get(key) === offset || random.chance(0.3);
  }

  #leftByKafka(records: readonly StoredRecord[]): (record: LoggedRecord) => boolean {
    const { random, time } = this.#at;
    const cleanTo = random.chance(0.5) ? random.below(records.length + 1) : 0;
    const newest = new Map(records.slice(0, cleanTo).map(({ key }, offset) => [key, offset]));
    return ({ key, offset, value }) => {
      if (offset >= cleanTo) return true;
      const { committedAtMs = 0 } = records[offset] ?? {};
      const isExpired = value === null && time.now() - committedAtMs > REMOVALS_KEPT_MS;
      return newest.get(key) === offset && !isExpired;
    };
  }

  #requireOwned(): void {
    if (this.#epoch === null || this.#epoch !== this.#topics.epoch) throw this.#outcomeUnknown();
  }

  #outcomeUnknown(): Error {
    this.#epoch = null;
    return simulatedError('KAFKA_OUTCOME_UNKNOWN');
  }
}

/** A key is always in the same partition; all partitions share one sequence of offsets. */
function partitioned(records: readonly LoggedRecord[]): LoggedRecord[][] {
  const partitions = Map.groupBy(
    records,
    ({ key }) => hash('sha256', key, 'buffer').readUInt8() % PARTITIONS,
  );
  return [...partitions.values()];
}

function toLogged(record: StoredRecord, offset: number): LoggedRecord {
  const { topic, key, body } = record;
  const hash = record.headers['content-hash'];
  return {
    topic,
    partition: 0,
    offset,
    key,
    value: body === null ? null : frame(schemaIdOf(topic), body),
    hash: hash === undefined ? null : Buffer.from(hash, 'hex'),
    mapping: record.headers[MAPPING_HEADER] ?? null,
  };
}

/** Like a registry: returns the schema that a framed value was written with; values of the changelog have none. */
export function schemaIdOf(topic: TopicSuffix): number | null {
  if (topic === STATE_TOPIC) return null;
  return ([...COLLECTIONS] as TopicSuffix[]).indexOf(topic) + 1;
}

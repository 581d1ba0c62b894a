import { PARTITIONS_HEADER } from '../core/cloud-events.ts';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import { outdatesIndex, type DecisionRecord, type Progress } from '../model/progress.ts';
import { topicName } from '../model/topic-names.ts';
import type { FetchedRecord } from './wire/fetched-batch.ts';
import type { KafkaConnections } from './wire/kafka-connections.ts';
import { readStretches } from './kafka-reader.ts';
import type { Ownership } from './log.ts';
import {
  decisionOf,
  headerFieldsOf,
  jsonObject,
  OWNER_KEY,
  progressOf,
  type ProgressValue,
} from './progress-codec.ts';
import type { Registry } from './registry/registry.ts';
import { fetchOffsets } from './topic-offsets.ts';

/** Stands for an owner whose record cannot be decoded: it exists and is not this process. */
const UNREADABLE_OWNER = 'an owner that cannot be read';

/** The parts of a record in `progress` that Rollcall uses. */
type LoggedMessage = Pick<FetchedRecord, 'key' | 'value' | 'headers' | 'offset' | 'timestamp'>;

/**
 * Gathers the content of a tenant's `progress` from its records, in their order. A collection whose newest record cannot
 * be decoded has no progress, as if its records were lost.
 */
export class LoggedTenant implements Ownership {
  readonly progress = new Map<CollectionName, Progress>();
  readonly transactionIds = new Map<CollectionName, Set<string>>();
  readonly recordedAtMs = new Map<CollectionName, number>();
  /** The decisions, in the order of their records. */
  readonly decisions: DecisionRecord[] = [];
  /** The last process that took the tenant over; null when no record names one. */
  owner: string | null = null;
  /** Null when the owner's record cannot be decoded. */
  ownedSinceMs: number | null = null;
  /** Offset of the record that names the owner, or -1. */
  ownerOffset = -1;
  /** The number of partitions over which the keys of each topic are spread, as the last owner recorded it; empty if no record has it. */
  partitions: Readonly<Record<string, number>> = {};
  readonly #registry: Pick<Registry, 'decodeOrNull'>;

  constructor(registry: Pick<Registry, 'decodeOrNull'>) {
    this.#registry = registry;
  }

  async add({ key: keyBytes, value: framed, headers, offset, timestamp }: LoggedMessage): Promise<void> {
    const key = String(keyBytes);
    const name = isCollectionName(key) ? key : null;
    if (framed === null) return;
    const decision = decisionOf(key, headers);
    if (decision !== null) this.decisions.push(decision);
    if (name === null && key !== OWNER_KEY) return;
    const value = (await this.#registry.decodeOrNull(framed, ['progress'])) as ProgressValue | null;
    if (key === OWNER_KEY) {
      this.owner = value === null ? UNREADABLE_OWNER : (value.owner ?? null);
      this.ownedSinceMs = value?.ownedSince ?? null;
      this.ownerOffset = Number(offset);
      this.partitions = jsonObject<Record<string, number>>(headers?.[PARTITIONS_HEADER]) ?? {};
    }
    if (name === null) return;
    if (value === null) {
      for (const known of [this.progress, this.transactionIds, this.recordedAtMs]) known.delete(name);
      return;
    }
    const before = this.progress.get(name);
    const progress = progressOf(value, headerFieldsOf(headers));
    if (progress === null) return;
    const isReset = before === undefined || outdatesIndex(before, progress);
    const ids = isReset ? new Set<string>() : (this.transactionIds.get(name) ?? new Set());
    this.progress.set(name, progress);
    this.transactionIds.set(name, ids.add(progress.transactionId));
    this.recordedAtMs.set(name, Number(timestamp));
  }
}

/** The content of `progress`, for a process that does not own the tenant. The owner reads it in take-over.ts. */
export type KnownProgress = Pick<
  LoggedTenant,
  'progress' | 'transactionIds' | 'recordedAtMs' | 'decisions' | 'owner' | 'ownedSinceMs'
>;

/**
 * A broker that dies is noticed after 9 s. Other brokers, if there are any, then lead its partitions. A person waits
 * for the answer, and can ask again.
 */
const LED_WITHIN_MS = 12_000;

/**
 * Reads the `progress` of tenants to its current end, without owning them. The result contains everything that was
 * committed before the call. It is null for a tenant without the topic.
 * Throws `KAFKA_…` and `REGISTRY_…`.
 */
export async function readKnownProgress(options: {
  kafka: KafkaConnections;
  registry: Registry;
  topicPrefix: string;
  tenantIds: readonly string[];
  signal: AbortSignal;
}): Promise<ReadonlyMap<string, KnownProgress | null>> {
  const { kafka, registry, topicPrefix, tenantIds, signal } = options;
  const topicOf = (tenantId: string): string => topicName({ topicPrefix, tenantId }, 'progress');
  const ranges = await fetchOffsets(kafka, tenantIds.map(topicOf), 'skipped', LED_WITHIN_MS);
  const byTopic = new Map([...ranges.keys()].map((topic) => [topic, new LoggedTenant(registry)]));
  await readStretches({
    kafka,
    stretches: [...ranges].map(([topic, [range]]) => ({
      topic,
      partition: 0,
      from: range?.low ?? 0,
      to: range?.high ?? 0,
    })),
    awaitsDecision: true,
    signal,
    onMessages: async ({ topic, messages }) => {
      for (const message of messages) await byTopic.get(topic)?.add(message);
    },
  });
  return new Map(tenantIds.map((tenantId) => [tenantId, byTopic.get(topicOf(tenantId)) ?? null]));
}

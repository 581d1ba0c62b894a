import type { Kafka, KafkaMessage } from 'kafkajs';
import { PARTITIONS_HEADER } from '../core/cloud-events.ts';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import { isFirstLoadOver, outdatesIndex, type Approval, type Progress } from '../model/progress.ts';
import { isFramed } from './framing.ts';
import { readStretches } from './kafka-reader.ts';
import type { Ownership } from './log.ts';
import { loggedProgress, OWNER_KEY, type LoggedProgress, type ProgressCodec } from './progress-codec.ts';
import { UndecodableRecord } from './registry-errors.ts';

/** Stands for an owner whose record cannot be decoded: it exists and is not this process. */
const UNREADABLE_OWNER = 'an owner that cannot be read';

/**
 * Gathers the content of a tenant's `progress` from its records, in their order. A collection whose newest record cannot
 * be decoded has no progress, as if its records were lost: an older record is outdated, but shows whether the first
 * load is over.
 */
export class LoggedTenant {
  readonly progress = new Map<CollectionName, Progress>();
  readonly transactionIds = new Map<CollectionName, Set<string>>();
  readonly recordedAtMs = new Map<CollectionName, number>();
  readonly unreadable = new Set<CollectionName>();
  readonly loadedBefore = new Set<CollectionName>();
  /** Approvals of missing rows, in the order of their syncs. */
  readonly approvals: { readonly collection: CollectionName; readonly approval: Approval }[] = [];
  /** The last process that took the tenant over; null when no record names one. */
  owner: string | null = null;
  /** Null when the owner's record cannot be decoded. */
  ownedSinceMs: number | null = null;
  /** Offset of the record that names the owner, or -1. */
  ownerOffset = -1;
  /** The registry's id of the schema of that record. */
  ownerSchemaId: number | null = null;
  /** What the topics' keys are spread over, as the last owner wrote them; empty when no record says so. */
  partitions: Readonly<Record<string, number>> = {};
  readonly #codec: ProgressCodec;

  constructor(codec: ProgressCodec) {
    this.#codec = codec;
  }

  ownedBy(owner: string): Ownership {
    const { progress, transactionIds, recordedAtMs, unreadable, loadedBefore } = this;
    return { owner, progress, transactionIds, recordedAtMs, unreadable, loadedBefore };
  }

  async add(message: KafkaMessage): Promise<void> {
    const key = message.key?.toString('utf8') ?? '';
    const name = isCollectionName(key) ? key : null;
    if (message.value === null) return;
    const logged = loggedProgress(message.value, message.headers);
    const record = await decodeIfPossible(this.#codec, logged);
    if (key === OWNER_KEY) {
      this.owner = record === null ? UNREADABLE_OWNER : record.owner;
      this.ownedSinceMs = record?.ownedSinceMs ?? null;
      this.ownerOffset = Number(message.offset);
      this.ownerSchemaId = isFramed(message.value) ? message.value.readInt32BE(1) : null;
      this.partitions = JSON.parse(String(message.headers?.[PARTITIONS_HEADER] ?? '{}'));
    }
    if (name === null) return;
    if (record === null) this.#noteUnreadable(name, logged);
    else if (record.progress !== null) this.#note(name, record.progress, Number(message.timestamp));
  }

  #note(name: CollectionName, progress: Progress, atMs: number): void {
    this.unreadable.delete(name);
    this.loadedBefore.delete(name);
    const before = this.progress.get(name);
    const isReset = before === undefined || outdatesIndex(before, progress);
    this.progress.set(name, progress);
    this.#noteApproval(name, before, progress);
    const ids = isReset ? new Set<string>() : (this.transactionIds.get(name) ?? new Set());
    this.transactionIds.set(name, ids.add(progress.transactionId));
    this.recordedAtMs.set(name, Math.max(this.recordedAtMs.get(name) ?? 0, atMs));
  }

  /** Later records carry the last approval forward. */
  #noteApproval(collection: CollectionName, before: Progress | undefined, { deletions }: Progress): void {
    const approval = deletions?.approval ?? null;
    const isNew = approval !== null && approval.atMs !== before?.deletions?.approval?.atMs;
    if (isNew) this.approvals.push({ collection, approval });
  }

  #noteUnreadable(name: CollectionName, { firstLoad }: LoggedProgress): void {
    this.unreadable.add(name);
    const before = this.progress.get(name);
    if (firstLoad === 'over' || (before !== undefined && isFirstLoadOver(before)))
      this.loadedBefore.add(name);
    for (const known of [this.progress, this.transactionIds, this.recordedAtMs]) known.delete(name);
  }
}

/**
 * Reads `progress` from its beginning up to, but not including, the offset `to`. Throws `KAFKA_…` and `REGISTRY_…`.
 */
export async function readTenantProgress(options: {
  kafka: Kafka;
  groupIdPrefix: string;
  topic: string;
  codec: ProgressCodec;
  to: number;
  awaitsDecision?: boolean | undefined;
  onGroup?: ((groupId: string) => void) | undefined;
  signal: AbortSignal;
}): Promise<LoggedTenant> {
  const { topic, codec, to, ...how } = options;
  const found = new LoggedTenant(codec);
  await readStretches({
    ...how,
    stretches: [{ topic, partition: 0, from: 0, to }],
    onMessages: async ({ messages }) => {
      for (const message of messages) await found.add(message);
    },
  });
  return found;
}

async function decodeIfPossible(
  codec: ProgressCodec,
  record: LoggedProgress,
): Promise<Awaited<ReturnType<ProgressCodec['decode']>> | null> {
  try {
    return await codec.decode(record);
  } catch (error) {
    if (error instanceof UndecodableRecord) return null;
    throw error;
  }
}

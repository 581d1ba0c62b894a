import type { Kafka, KafkaMessage } from 'kafkajs';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import { isFirstLoadOver, outdatesIndex, type Progress } from '../model/progress.ts';
import { readStretches } from './kafka-reader.ts';
import type { Ownership } from './log.ts';
import { loggedProgress, OWNER_KEY, type LoggedProgress, type ProgressCodec } from './progress-codec.ts';
import { UndecodableRecord } from './registry-errors.ts';

/** Stands for an owner whose record cannot be decoded: it exists and is not this process. */
const UNREADABLE_OWNER = 'an owner that cannot be read';

/** The content of a tenant's `progress`, up to an offset. */
export interface LoggedTenant extends Omit<Ownership, 'owner'> {
  /** The last process that took the tenant over; null when no record names one. */
  readonly owner: string | null;
  /** Offset of the record that names the owner, or -1. */
  readonly ownerOffset: number;
}

/**
 * Reads `progress` from its beginning up to, but not including, the offset `to`. A collection whose newest record cannot
 * be decoded has no progress, as if its records were lost: an older record is outdated, but shows whether the first
 * load is over. Throws `KAFKA_…` and `REGISTRY_…`.
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
  const { kafka, groupIdPrefix, topic, to, awaitsDecision, onGroup, signal } = options;
  const progress = new Map<CollectionName, Progress>();
  const transactionIds = new Map<CollectionName, Set<string>>();
  const recordedAtMs = new Map<CollectionName, number>();
  const unreadable = new Set<CollectionName>();
  const loadedBefore = new Set<CollectionName>();
  let owner: string | null = null;
  let ownerOffset = -1;
  const onMessage = async (message: KafkaMessage): Promise<void> => {
    const key = message.key?.toString('utf8');
    if (message.value === null) {
      // A null value means that a person purged the collection: earlier records no longer count.
      if (key === undefined || !isCollectionName(key)) return;
      for (const known of [progress, transactionIds, recordedAtMs, unreadable, loadedBefore])
        known.delete(key);
      return;
    }
    const logged = loggedProgress(message.value, message.headers);
    const record = await decodeIfPossible(options.codec, logged);
    if (key === OWNER_KEY) {
      owner = record === null ? UNREADABLE_OWNER : record.owner;
      ownerOffset = Number(message.offset);
    }
    if (key === undefined || !isCollectionName(key)) return;
    if (record === null) {
      unreadable.add(key);
      const before = progress.get(key);
      if (logged.firstLoad === 'over' || (before !== undefined && isFirstLoadOver(before)))
        loadedBefore.add(key);
      for (const known of [progress, transactionIds, recordedAtMs]) known.delete(key);
      return;
    }
    if (record.progress === null) return;
    unreadable.delete(key);
    loadedBefore.delete(key);
    const before = progress.get(key);
    const isReset = before === undefined || outdatesIndex(before, record.progress);
    progress.set(key, record.progress);
    const ids = isReset ? new Set<string>() : (transactionIds.get(key) ?? new Set());
    transactionIds.set(key, ids.add(record.progress.transactionId));
    recordedAtMs.set(key, Math.max(recordedAtMs.get(key) ?? 0, Number(message.timestamp)));
  };
  await readStretches({
    kafka,
    groupIdPrefix,
    stretches: [{ topic, partition: 0, from: 0, to }],
    onMessages: async ({ messages }) => {
      for (const message of messages) await onMessage(message);
    },
    awaitsDecision,
    onGroup,
    signal,
  });
  return { progress, unreadable, loadedBefore, owner, ownerOffset, transactionIds, recordedAtMs };
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

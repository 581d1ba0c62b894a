import type { Kafka, KafkaMessage } from 'kafkajs';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import { tellsOfLoss, type Progress } from '../model/progress.ts';
import { readStretches } from './kafka-reader.ts';
import type { Ownership } from './log.ts';
import { OWNER_KEY, type ProgressCodec } from './progress-codec.ts';

/** What a tenant's `progress` tells, up to an offset. */
export interface ToldProgress extends Omit<Ownership, 'owner'> {
  /** Who took the tenant over last; null where nobody is named. */
  readonly owner: string | null;
  /** Offset of the record that names the owner, or -1. */
  readonly ownerOffset: number;
}

/** Reads `progress` from its beginning to before the offset `to`. Throws `KAFKA_…` and `REGISTRY_…`. */
export async function readToldProgress(options: {
  kafka: Kafka;
  groupIdPrefix: string;
  topic: string;
  codec: ProgressCodec;
  to: number;
  signal: AbortSignal;
}): Promise<ToldProgress> {
  const { kafka, groupIdPrefix, topic, to, signal } = options;
  const progress = new Map<CollectionName, Progress>();
  const transactionIds = new Map<CollectionName, Set<string>>();
  const toldAtMs = new Map<CollectionName, number>();
  let owner: string | null = null;
  let ownerOffset = -1;
  const onMessage = async (message: KafkaMessage): Promise<void> => {
    const key = message.key?.toString('utf8');
    if (message.value === null) return;
    const record = await options.codec.decode(message.value);
    if (key === OWNER_KEY) {
      owner = record.owner;
      ownerOffset = Number(message.offset);
    }
    if (record.progress === null || key === undefined || !isCollectionName(key)) return;
    const before = progress.get(key);
    const isAnew = before === undefined || tellsOfLoss(before, record.progress);
    progress.set(key, record.progress);
    const ids = isAnew ? new Set<string>() : (transactionIds.get(key) ?? new Set());
    transactionIds.set(key, ids.add(record.progress.transactionId));
    toldAtMs.set(key, Math.max(toldAtMs.get(key) ?? 0, Number(message.timestamp)));
  };
  await readStretches({
    kafka,
    groupIdPrefix,
    stretches: [{ topic, partition: 0, from: 0, to }],
    onMessages: async ({ messages }) => {
      for (const message of messages) await onMessage(message);
    },
    signal,
  });
  return { progress, owner, ownerOffset, transactionIds, toldAtMs };
}

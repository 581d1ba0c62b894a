import type { Admin, Kafka, KafkaMessage } from 'kafkajs';
import { RollcallError } from '../errors.ts';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import { topicName } from '../model/topics.ts';
import { kafkaError } from './kafka-errors.ts';
import { readStretches, type Stretch } from './kafka-reader.ts';
import { createProgressCodec, loggedProgress, OWNER_KEY } from './progress-codec.ts';
import { UndecodableRecord } from './registry-errors.ts';
import type { Registry } from './registry.ts';
import { fetchOffsets } from './topic-offsets.ts';

/** The content of `progress`, for a process that does not own the tenant. */
export interface KnownProgress {
  readonly progress: ReadonlyMap<CollectionName, Progress>;
  /** The last process that took the tenant over. */
  readonly owner: { readonly owner: string; readonly ownedSinceMs: number } | null;
  readonly transactionIds: ReadonlySet<string>;
}

/**
 * Reads the `progress` of tenants to its current end, without owning them. The result contains everything that was
 * committed before the call. It is null for a tenant without the topic.
 * Throws `KAFKA_…` and `REGISTRY_…`.
 */
export async function readKnownProgress(options: {
  kafka: Kafka;
  /** Connected. */
  admin: Admin;
  registry: Registry;
  topicPrefix: string;
  tenantIds: readonly string[];
  signal: AbortSignal;
}): Promise<ReadonlyMap<string, KnownProgress | null>> {
  const { kafka, admin, registry, topicPrefix, tenantIds, signal } = options;
  const found = new Map<string, Collected | null>();
  const byTopic = new Map<string, Collected>();
  const stretches: Stretch[] = [];
  const existing = new Set(await admin.listTopics().catch(asKafkaError));
  for (const tenantId of tenantIds) {
    const topic = topicName({ topicPrefix, tenantId }, 'progress');
    const collected = existing.has(topic) ? newCollected() : null;
    found.set(tenantId, collected);
    if (collected === null) continue;
    byTopic.set(topic, collected);
    const [range] = await fetchOffsets(admin, topic);
    stretches.push({ topic, partition: 0, from: range?.low ?? 0, to: range?.high ?? 0 });
  }
  // One read for all tenants: to join a consumer group costs more than to read the records.
  await readStretches({
    kafka,
    groupIdPrefix: `${topicPrefix}.progress`,
    stretches,
    awaitsDecision: true,
    signal,
    onMessages: async ({ topic, messages }) => {
      const collected = byTopic.get(topic);
      for (const message of messages) {
        if (collected !== undefined) await collectIfReadable({ collected, message, topic, registry });
      }
    },
  });
  return found;
}

interface Collected {
  readonly progress: Map<CollectionName, Progress>;
  readonly transactionIds: Set<string>;
  owner: KnownProgress['owner'];
}

function newCollected(): Collected {
  return { progress: new Map(), transactionIds: new Set(), owner: null };
}

function asKafkaError(error: unknown): never {
  throw kafkaError(error, 'listing topics');
}

interface ToCollect {
  readonly collected: Collected;
  readonly message: KafkaMessage;
  readonly topic: string;
  readonly registry: Registry;
}

/** A collection whose newest record cannot be decoded has no progress, here and for its owner. */
async function collectIfReadable(options: ToCollect): Promise<void> {
  try {
    await collect(options);
  } catch (error) {
    if (!(error instanceof UndecodableRecord)) throw error;
    const { collected, message } = options;
    const name = message.key?.toString('utf8') ?? '';
    if (name === OWNER_KEY) collected.owner = null;
    else if (isCollectionName(name)) collected.progress.delete(name);
  }
}

async function collect(options: ToCollect): Promise<void> {
  const { collected, message, topic, registry } = options;
  const { key, value } = message;
  const name = key?.toString('utf8') ?? '';
  if (value === null) {
    if (isCollectionName(name)) collected.progress.delete(name);
    return;
  }
  const decode = async (framed: Buffer): Promise<unknown> => {
    try {
      return await registry.decode(framed, ['progress']);
    } catch (error) {
      throw undecodable(topic, error);
    }
  };
  if (name === OWNER_KEY) {
    collected.owner = ownerIn(await decode(value));
    return;
  }
  const codec = createProgressCodec({
    timeZone: null,
    encode: () => Buffer.alloc(0),
    decode: async (framed) => (await decode(framed)) as never,
  });
  const { progress } = await codec.decode(loggedProgress(value, message.headers));
  if (progress === null || !isCollectionName(name)) return;
  collected.progress.set(name, progress);
  collected.transactionIds.add(progress.transactionId);
}

function ownerIn(value: unknown): KnownProgress['owner'] {
  const { owner, ownedSince } = value as { owner?: string | null; ownedSince?: number | Date | null };
  return owner === null || owner === undefined ? null : { owner, ownedSinceMs: Number(ownedSince ?? 0) };
}

/** Adds the registry and the topic, which an error of the registry client does not name. */
function undecodable(topic: string, error: unknown): unknown {
  if (error instanceof RollcallError) return error;
  const { status } = error as { status?: unknown };
  const why = typeof status === 'number' ? `HTTP ${status}` : 'no answer';
  return new RollcallError(
    'REGISTRY_UNREACHABLE',
    `The schema registry returns no schema for ${topic} (${why})`,
    {
      remedy: 'Check registry.url, and that Rollcall publishes with this registry.',
      cause: error,
    },
  );
}

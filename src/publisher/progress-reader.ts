import type { Admin, Kafka } from 'kafkajs';
import { RollcallError } from '../errors.ts';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import { topicName } from '../model/topics.ts';
import { readStretches } from './kafka-reader.ts';
import { createProgressCodec, OWNER_KEY } from './progress-codec.ts';
import type { Registry } from './registry.ts';
import { fetchOffsets } from './topic-offsets.ts';

/** What `progress` tells to somebody who does not own the tenant. */
export interface KnownProgress {
  readonly progress: ReadonlyMap<CollectionName, Progress>;
  /** The last process that took the tenant over. */
  readonly owner: { readonly owner: string; readonly ownedSinceMs: number } | null;
  readonly transactionIds: ReadonlySet<string>;
}

/**
 * Reads a tenant's `progress` to its end as of now, owning nothing. Null when the topic is not there.
 * Throws `KAFKA_…` and `REGISTRY_…`.
 */
export async function readKnownProgress(options: {
  kafka: Kafka;
  /** Connected. */
  admin: Admin;
  registry: Registry;
  topicPrefix: string;
  tenantId: string;
  signal: AbortSignal;
}): Promise<KnownProgress | null> {
  const { kafka, admin, registry, topicPrefix, tenantId, signal } = options;
  const topic = topicName({ topicPrefix, tenantId }, 'progress');
  if (!(await admin.listTopics()).includes(topic)) return null;
  const [range] = await fetchOffsets(admin, topic);
  const decode = async (framed: Buffer): Promise<unknown> => {
    try {
      return await registry.decode(framed);
    } catch (error) {
      throw undecodable(topic, error);
    }
  };
  const codec = createProgressCodec({
    encode: () => Buffer.alloc(0),
    decode: async (framed) => (await decode(framed)) as never,
  });
  const progress = new Map<CollectionName, Progress>();
  const transactionIds = new Set<string>();
  let owner: KnownProgress['owner'] = null;
  await readStretches({
    kafka,
    groupIdPrefix: `${topicPrefix}.${tenantId}`,
    stretches: [{ topic, partition: 0, from: range?.low ?? 0, to: range?.high ?? 0 }],
    signal,
    onMessages: async ({ messages }) => {
      for (const { key, value } of messages) {
        const name = key?.toString('utf8') ?? '';
        if (value === null) continue;
        if (name === OWNER_KEY) {
          owner = ownerIn(await decode(value));
          continue;
        }
        const found = (await codec.decode(value)).progress;
        if (found === null || !isCollectionName(name)) continue;
        progress.set(name, found);
        transactionIds.add(found.transactionId);
      }
    },
  });
  return { progress, owner, transactionIds };
}

function ownerIn(value: unknown): KnownProgress['owner'] {
  const { owner, ownedSince } = value as { owner?: string | null; ownedSince?: number | Date | null };
  return owner === null || owner === undefined ? null : { owner, ownedSinceMs: Number(ownedSince ?? 0) };
}

/** The registry client names neither itself nor the topic. */
function undecodable(topic: string, error: unknown): unknown {
  if (error instanceof RollcallError) return error;
  const { status } = error as { status?: unknown };
  const why = typeof status === 'number' ? `HTTP ${status}` : 'no answer';
  return new RollcallError(
    'REGISTRY_UNREACHABLE',
    `The schema registry gives no schema for ${topic} (${why})`,
    {
      remedy: 'Check registry.url, and that this is the registry that Rollcall publishes with.',
      cause: error,
    },
  );
}

import type { Admin, Kafka } from 'kafkajs';
import { RollcallError } from '../errors.ts';
import { topicName } from '../model/topic-names.ts';
import { kafkaError } from './kafka-errors.ts';
import { readStretches, type Stretch } from './kafka-reader.ts';
import { createProgressCodec } from './progress-codec.ts';
import type { Registry } from './registry.ts';
import { LoggedTenant } from './tenant-progress.ts';
import { fetchOffsets } from './topic-offsets.ts';

/** The content of `progress`, for a process that does not own the tenant. The owner reads it in take-over.ts. */
export type KnownProgress = Pick<
  LoggedTenant,
  'progress' | 'transactionIds' | 'approvals' | 'owner' | 'ownedSinceMs'
>;

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
  const found = new Map<string, LoggedTenant | null>();
  const byTopic = new Map<string, LoggedTenant>();
  const stretches: Stretch[] = [];
  const existing = new Set(await admin.listTopics().catch(asKafkaError));
  for (const tenantId of tenantIds) {
    const topic = topicName({ topicPrefix, tenantId }, 'progress');
    const logged = existing.has(topic) ? new LoggedTenant(decoderOf(registry, topic)) : null;
    found.set(tenantId, logged);
    if (logged === null) continue;
    byTopic.set(topic, logged);
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
      for (const message of messages) await byTopic.get(topic)?.add(message);
    },
  });
  return found;
}

function asKafkaError(error: unknown): never {
  throw kafkaError(error, 'listing topics');
}

function decoderOf(registry: Registry, topic: string): ReturnType<typeof createProgressCodec> {
  return createProgressCodec({
    timeZone: null,
    encode: () => Buffer.alloc(0),
    decode: async (framed) => {
      try {
        return (await registry.decode(framed, ['progress'])) as never;
      } catch (error) {
        throw undecodable(topic, error);
      }
    },
  });
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

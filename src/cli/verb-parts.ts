import { once } from 'node:events';
import { syncedCollections, type TenantConfig } from '../config.ts';
import { RollcallError } from '../errors.ts';
import { pingKafka } from '../log/kafka-client.ts';
import { readKnownProgress, type KnownProgress } from '../log/progress-reader.ts';
import type { Assembly } from '../session/assemble.ts';
import { readWaiting } from '../sync/read-waiting.ts';

const SAY_AFTER_MS = 2_000;
const ANSWERS_WITHIN_MS = 30_000;

/**
 * Waits until Kafka answers. If this takes long, because brokers are down, stderr says what it waits for. Throws `KAFKA_…`, and the
 * signal's reason when it aborts.
 */
export async function requireKafka(
  { kafka, config }: Pick<Assembly, 'kafka' | 'config'>,
  signal: AbortSignal,
): Promise<void> {
  const late = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const either = AbortSignal.any([signal, late]);
  signal.throwIfAborted();
  const text = `Kafka (${config.kafka.brokers.join(', ')}): still waiting for any broker. If brokers are down, this takes half a minute at most.\n`;
  const saying = setTimeout(() => process.stderr.write(text), SAY_AFTER_MS);
  await Promise.race([pingKafka(kafka), once(either, 'abort')]).finally(() => clearTimeout(saying));
  signal.throwIfAborted();
  if (!late.aborted) return;
  throw new RollcallError('KAFKA_UNREACHABLE', 'No broker of Kafka has answered within half a minute', {
    remedy: 'Check that the brokers are up: "rollcall check" tries each of them.',
  });
}

/** What each tenant's topic `progress` says; null for a tenant without this topic. Throws `KAFKA_…`, `REGISTRY_…`. */
export async function readTenantProgress(
  assembly: Assembly,
  tenants: readonly Pick<TenantConfig, 'id'>[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, KnownProgress | null>> {
  await requireKafka(assembly, signal);
  const { kafka, registry, config } = assembly;
  const { topicPrefix } = config.kafka;
  const tenantIds = tenants.map(({ id }) => id);
  return readKnownProgress({ kafka, registry, topicPrefix, tenantIds, signal });
}

/** What waits for a decision in a tenant. `known`: what its topic `progress` says. Throws `INDEX_…`. */
export function waitingOf({ store }: Assembly, tenant: TenantConfig, known?: KnownProgress | null) {
  const names = syncedCollections(tenant).map(({ name }) => name);
  const progress = new Map(names.map((name) => [name, known?.progress.get(name) ?? null]));
  return readWaiting(store.tenant(tenant.id).deletions, progress);
}

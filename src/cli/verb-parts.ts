import { once } from 'node:events';
import type { Config, TenantConfig } from '../config.ts';
import { RollcallError } from '../errors.ts';
import { pingKafka } from '../log/kafka-client.ts';
import { readKnownProgress, type KnownProgress } from '../log/progress-reader.ts';
import type { Assembly } from '../session/assemble.ts';

const SAY_AFTER_MS = 2_000;
const ANSWERS_WITHIN_MS = 30_000;

/** Waits for an answer of Kafka, which can take long if brokers are down: then stderr says what it waits for. */
export async function sayingIfLong<T>(
  { brokers }: Config['kafka'],
  what: string,
  answer: () => Promise<T>,
): Promise<T> {
  const text = `Kafka (${brokers.join(', ')}): still waiting for ${what}. If brokers are down, this takes half a minute at most.\n`;
  const saying = setTimeout(() => process.stderr.write(text), SAY_AFTER_MS);
  try {
    return await answer();
  } finally {
    clearTimeout(saying);
  }
}

/** Waits until Kafka answers. Throws `KAFKA_…`, and the signal's reason when it aborts. */
export async function requireKafka(
  { kafka, config }: Pick<Assembly, 'kafka' | 'config'>,
  signal: AbortSignal,
): Promise<void> {
  const late = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const either = AbortSignal.any([signal, late]);
  signal.throwIfAborted();
  await sayingIfLong(config.kafka, 'any broker', () =>
    Promise.race([pingKafka(kafka), once(either, 'abort')]),
  );
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
  return sayingIfLong(config.kafka, 'the leaders of the topics named progress', () =>
    readKnownProgress({ kafka, registry, topicPrefix, tenantIds, signal }),
  );
}

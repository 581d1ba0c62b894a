import { once } from 'node:events';
import { pino } from 'pino';
import type { Config, TenantConfig } from '../config.ts';
import { pingKafka } from '../log/kafka-client.ts';
import { readKnownProgress, type KnownProgress } from '../log/progress-reader.ts';
import { assemble, type Assembly, type AssemblyOptions } from '../session/assemble.ts';

const SAY_AFTER_MS = 2_000;

/** The parts for a verb, without logs. `emit`: gets what this process does as owner of a tenant. */
export function quietAssembly(config: Config, emit: AssemblyOptions['emit'] = () => undefined): Assembly {
  return assemble(config, { logger: pino({ level: 'silent' }), emit });
}

/**
 * Waits until Kafka answers, which can take long: then stderr says what it waits for. Throws `KAFKA_…`, and the signal's reason
 * when it aborts.
 */
export async function requireKafka(
  { kafka, config }: Pick<Assembly, 'kafka' | 'config'>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = `Kafka (${config.kafka.brokers.join(', ')}) has not answered yet; still trying.\n`;
  const saying = setTimeout(() => process.stderr.write(waiting), SAY_AFTER_MS);
  try {
    signal.throwIfAborted();
    await Promise.race([pingKafka(kafka), once(signal, 'abort')]);
    signal.throwIfAborted();
  } finally {
    clearTimeout(saying);
  }
}

/** What the log says of each tenant; null for one without a topic `progress`. Throws `KAFKA_…`, `REGISTRY_…`. */
export async function readLogs(
  assembly: Assembly,
  tenants: readonly Pick<TenantConfig, 'id'>[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, KnownProgress | null>> {
  await requireKafka(assembly, signal);
  const { kafka, registry, config } = assembly;
  const tenantIds = tenants.map(({ id }) => id);
  return readKnownProgress({ kafka, registry, topicPrefix: config.kafka.topicPrefix, tenantIds, signal });
}

import { once } from 'node:events';
import type { Admin } from 'kafkajs';
import { pino } from 'pino';
import type { Config, TenantConfig } from '../config.ts';
import { readKnownProgress, type KnownProgress } from '../log/progress-reader.ts';
import { assemble, type Assembly, type AssemblyOptions } from '../session/assemble.ts';
import { kafkaError } from '../log/kafka-errors.ts';

const SAY_AFTER_MS = 2_000;

/** The parts for a verb, without logs. `emit`: gets what this process does as owner of a tenant. */
export function quietAssembly(config: Config, emit: AssemblyOptions['emit'] = () => undefined): Assembly {
  return assemble(config, { logger: pino({ level: 'silent' }), emit });
}

/**
 * A connected admin client, closed when `work` is done. Throws `KAFKA_…`, and the signal's reason when it aborts during
 * the connection, which can take long when no broker answers: then stderr says what it waits for.
 */
export async function withAdmin<T>(
  { assembly, signal }: { readonly assembly: Assembly; readonly signal: AbortSignal },
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = assembly.kafka.admin();
  const waiting = `Kafka (${assembly.config.kafka.brokers.join(', ')}) has not answered yet; still trying.\n`;
  const saying = setTimeout(() => process.stderr.write(waiting), SAY_AFTER_MS);
  try {
    signal.throwIfAborted();
    const connected = admin.connect().catch((error: unknown) => {
      throw kafkaError(error, 'connecting');
    });
    await Promise.race([connected, once(signal, 'abort')]);
    signal.throwIfAborted();
    clearTimeout(saying);
    return await work(admin);
  } finally {
    clearTimeout(saying);
    const closed = admin.disconnect().catch(() => undefined);
    if (!signal.aborted) await closed;
  }
}

/** What the log says of each tenant; null for one without a topic `progress`. Throws `KAFKA_…`, `REGISTRY_…`. */
export function readLogs(
  assembly: Assembly,
  tenants: readonly Pick<TenantConfig, 'id'>[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, KnownProgress | null>> {
  const { kafka, registry, config } = assembly;
  const { topicPrefix } = config.kafka;
  const tenantIds = tenants.map(({ id }) => id);
  return withAdmin({ assembly, signal }, (admin) =>
    readKnownProgress({ kafka, admin, registry, topicPrefix, tenantIds, signal }),
  );
}

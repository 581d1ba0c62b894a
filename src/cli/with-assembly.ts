import type { Admin } from 'kafkajs';
import { pino } from 'pino';
import type { Config } from '../config.ts';
import { assemble, type Assembly } from '../pipeline/assemble.ts';
import { kafkaError } from '../publisher/kafka-errors.ts';

/** The parts for a verb that only looks: silent, and closed when `work` is done. */
export async function withAssembly<T>(config: Config, work: (assembly: Assembly) => Promise<T>): Promise<T> {
  await using assembly = assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
  return await work(assembly);
}

/** A connected admin client, closed when `work` is done. Throws `KAFKA_…`. */
export async function withAdmin<T>(assembly: Assembly, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = assembly.kafka.admin();
  try {
    await admin.connect().catch((error: unknown) => {
      throw kafkaError(error, 'connecting');
    });
    return await work(admin);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

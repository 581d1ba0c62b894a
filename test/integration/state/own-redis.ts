import { inject, vi } from 'vitest';
import { startStack } from '../../../stack/start-stack.ts';

/** A Redis that no other test uses, so that it may be filled, locked and broken. */
export async function startOwnRedis(): Promise<{ url: string; stop: () => Promise<void> }> {
  const { kafkaBrokers, registryUrl } = inject('stack');
  vi.stubEnv('ROLLCALL_KAFKA_BROKERS', kafkaBrokers.join(','));
  vi.stubEnv('ROLLCALL_REGISTRY_URL', registryUrl);
  vi.stubEnv('ROLLCALL_REDIS_URL', undefined);
  try {
    const stack = await startStack({ print: () => undefined, prefer: 'testcontainers' });
    return { url: stack.redisUrl, stop: () => stack.stop() };
  } finally {
    vi.unstubAllEnvs();
  }
}

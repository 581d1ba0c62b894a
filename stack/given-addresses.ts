import type { Addresses } from './service-names.ts';

/** The environment variables with the addresses of running services; such a service is used and not started. */
export const addressVariables = {
  kafka: 'ROLLCALL_KAFKA_BROKERS',
  registry: 'ROLLCALL_REGISTRY_URL',
  redis: 'ROLLCALL_REDIS_URL',
} as const;

/** Returns the addresses in the environment; an empty variable counts as unset. */
export function givenAddresses(env: NodeJS.ProcessEnv): Addresses {
  const addresses: Addresses = {};
  for (const service of ['kafka', 'registry', 'redis'] as const) {
    const value = env[addressVariables[service]]?.trim();
    if (value !== undefined && value !== '')
      addresses[service] = service === 'kafka' ? value : value.replace(/\/+$/, '');
  }
  return addresses;
}

/** Splits `host:port, host:port`. */
export function brokerList(text: string): string[] {
  return text
    .split(',')
    .map((broker) => broker.trim())
    .filter((broker) => broker !== '');
}

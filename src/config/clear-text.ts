import type { KafkaConfig, TenantConfig } from '../config.ts';
import { crossesInTheClear, LOOPBACK } from './fields.ts';

/** The settings by which credentials or rows cross a network unencrypted, each once, with the address. */
export function unencrypted(kafka: KafkaConfig, tenants: readonly TenantConfig[]): readonly string[] {
  const found = tenants.flatMap(({ hub }) =>
    (['baseUrl', 'tokenUrl'] as const).flatMap((name) => openAddress(`hub.${name}`, hub[name])),
  );
  if (kafka.sasl !== undefined && 'tokenUrl' in kafka.sasl)
    found.push(...openAddress('kafka.sasl.tokenUrl', kafka.sasl.tokenUrl));
  const isFar = kafka.brokers.some((broker) => !LOOPBACK.test(broker.replace(/:\d+$/, '')));
  if (kafka.sasl !== undefined && kafka.ssl === false && isFar) found.push('kafka.sasl without kafka.ssl');
  return [...new Set(found)];
}

function openAddress(setting: string, address: string): readonly string[] {
  return crossesInTheClear(address) ? [`${setting} ${new URL(address).origin}`] : [];
}

export const UNENCRYPTED = 'credentials or rows cross the network unencrypted';
export const ENCRYPT = 'Use https:// for the hub and the token service, and kafka.ssl with kafka.sasl.';

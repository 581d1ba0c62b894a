import { parse } from 'yaml';
import type { KafkaConfig, TenantConfig } from '../config.ts';
import { crossesInTheClear, LOOPBACK } from './fields.ts';
import { formatPath, mapOf } from './problem.ts';

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

/** A webhook's address often has a token in it. */
const SECRET = /(secret|password|passphrase|bearerToken|\b(key|token)|^notify\.url)$/i;

/** The keys with a secret in clear text, by the text of a configuration that is valid: their paths. */
export function secretsInClear(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    const isSecret = SECRET.test(formatPath(path));
    if (typeof value === 'string' && isSecret && !value.includes('${')) found.push(formatPath(path));
    if (Array.isArray(value)) for (const [at, each] of value.entries()) visit(each, [...path, at]);
    else for (const [key, each] of Object.entries(mapOf(value))) visit(each, [...path, key]);
  };
  visit(parse(text), []);
  return found;
}

export const UNENCRYPTED = 'credentials or rows cross the network unencrypted';
export const ENCRYPT = 'Use https:// for the hub and the token service, and kafka.ssl with kafka.sasl.';

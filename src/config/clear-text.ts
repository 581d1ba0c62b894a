import { parse } from 'yaml';
import type { Config, TenantConfig } from '../config.ts';
import { crossesInTheClear, LOOPBACK } from './fields.ts';
import { formatPath, mapOf } from './problem.ts';

/** The settings by which credentials or rows cross a network unencrypted, each once, with the address. */
export function unencrypted(
  { kafka, registry, redis }: Pick<Config, 'kafka' | 'registry' | 'redis'>,
  tenants: readonly TenantConfig[],
): readonly string[] {
  const found = tenants.flatMap(({ hub }) =>
    (['baseUrl', 'tokenUrl'] as const).flatMap((name) => openAddress(`hub.${name}`, hub[name])),
  );
  if (kafka.sasl !== undefined && 'tokenUrl' in kafka.sasl)
    found.push(...openAddress('kafka.sasl.tokenUrl', kafka.sasl.tokenUrl));
  if (kafka.sasl !== undefined && kafka.ssl === false && kafka.brokers.some(isFar))
    found.push('kafka.sasl without kafka.ssl');
  const { oauth } = registry;
  if (oauth !== undefined) found.push(...openAddress('registry.oauth.tokenUrl', oauth.tokenUrl));
  if ([registry.password, registry.bearerToken, oauth].some((each) => each !== undefined))
    found.push(...openAddress('registry.url', registry.url));
  const [scheme, hosts = ''] = redis?.url.split('://') ?? [];
  const hasPassword = redis?.password !== undefined || redis?.sentinel?.password !== undefined;
  if (scheme === 'redis' && hasPassword && hosts.replace(/\/.*$/, '').split(',').some(isFar))
    found.push('redis.password without rediss://');
  return [...new Set(found)];
}

/** Whether `host:port` is on another machine. */
function isFar(address: string): boolean {
  return !LOOPBACK.test(address.replace(/:\d+$/, ''));
}

function openAddress(setting: string, address: string): readonly string[] {
  return crossesInTheClear(address) ? [`${setting} ${new URL(address).origin}`] : [];
}

/** A webhook's address often has a token in it. */
const SECRET = /(secret|password|passphrase|bearerToken|\b(key|token)|^notify\.url)$/i;

/** The paths of the keys that have a secret in clear text. `text`: a valid configuration. */
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
export const ENCRYPT =
  'Use https:// for hub, token services and registry, rediss:// for Redis, and kafka.ssl with kafka.sasl.';

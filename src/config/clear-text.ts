import { parse } from 'yaml';
import { crossesInTheClear, LOOPBACK } from './fields.ts';
import { formatPath, isOff, listOf, mapOf, type KeyPath } from './problem.ts';

/**
 * The settings by which credentials or rows cross a network unencrypted, each once, with the address. `value`: a
 * configuration, or the values of its file, where `${…}` may stand for an address that is not known.
 */
export function unencrypted(value: object): readonly string[] {
  const root = mapOf(value);
  const [kafka, registry, redis] = [mapOf(root['kafka']), mapOf(root['registry']), mapOf(root['redis'])];
  const found = listOf(root['tenants']).flatMap((tenant) => {
    const hub = mapOf(mapOf(tenant)['hub']);
    return ['baseUrl', 'tokenUrl'].flatMap((name) => openAddress(`hub.${name}`, hub[name]));
  });
  found.push(...openAddress('kafka.sasl.tokenUrl', mapOf(kafka['sasl'])['tokenUrl']));
  const brokers = listOf(kafka['brokers']).flatMap((entry) => String(entry).split(/ *, */));
  if (kafka['sasl'] !== undefined && isOff(kafka['ssl']) && brokers.some(isFar))
    found.push('kafka.sasl without kafka.ssl');
  found.push(...openAddress('registry.oauth.tokenUrl', mapOf(registry['oauth'])['tokenUrl']));
  if (['password', 'bearerToken', 'oauth'].some((name) => registry[name] !== undefined))
    found.push(...openAddress('registry.url', registry['url']));
  const [scheme, hosts = ''] = String(redis['url']).split('://');
  const hasPassword = [redis, mapOf(redis['sentinel'])].some((each) => each?.['password'] !== undefined);
  if (scheme === 'redis' && hasPassword && hosts.replace(/\/.*$/, '').split(',').some(isFar))
    found.push('redis.password without rediss://');
  return [...new Set(found)];
}

/** Whether `host:port` is on another machine. */
function isFar(address: unknown): boolean {
  return !LOOPBACK.test(String(address).replace(/:\d+$/, ''));
}

function openAddress(setting: string, address: unknown): readonly string[] {
  return typeof address === 'string' && crossesInTheClear(address)
    ? [`${setting} ${new URL(address).origin}`]
    : [];
}

/** A webhook's address often has a token in it. */
const SECRET = /(secret|password|passphrase|bearerToken|\b(key|token)|^notify\.url)$/i;

/** Whether the value of a key is a secret. */
export function isSecret(path: KeyPath): boolean {
  return SECRET.test(formatPath(path));
}

/** The paths of the keys that have a secret in clear text. `text`: a valid configuration. */
export function secretsInClear(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === 'string' && isSecret(path) && !value.includes('${')) found.push(formatPath(path));
    if (Array.isArray(value)) for (const [at, each] of value.entries()) visit(each, [...path, at]);
    else for (const [key, each] of Object.entries(mapOf(value))) visit(each, [...path, key]);
  };
  visit(parse(text), []);
  return found;
}

export const UNENCRYPTED = 'credentials or rows cross the network unencrypted';
export const ENCRYPT =
  'Use https:// for hub, token services and registry, rediss:// for Redis, and kafka.ssl with kafka.sasl.';

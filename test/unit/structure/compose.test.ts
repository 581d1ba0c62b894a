import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config.ts';

const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

interface Service {
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly depends_on?: object;
}

const { services, volumes: named } = parse(readFileSync(join(CHECKOUT, 'docker-compose.yml'), 'utf8'), {
  merge: true,
}) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};

it('docker-compose.yml mounts only files that exist and volumes that it declares', () => {
  const sources = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.map((volume) => volume.split(':')[0] ?? ''),
  );
  const exists = (source: string) =>
    source.startsWith('.') ? existsSync(join(CHECKOUT, source)) : source in named;
  expect([sources.length > 5, sources.filter((source) => !exists(source))]).toEqual([true, []]);
});

it('docker-compose.yml publishes ports on this machine only, and gives no service a capability', () => {
  for (const { ports = [], cap_drop, security_opt } of Object.values(services)) {
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    expect([cap_drop, security_opt]).toEqual([['ALL'], ['no-new-privileges:true']]);
  }
});

it("in docker-compose.yml Rollcall's configuration is valid, and names only services that are there", () => {
  const path = join(CHECKOUT, 'examples/compose/rollcall.yaml');
  const { kafka, registry, redis, tenants } = loadConfig({
    path,
    env: { HUB_SECRET: 'x' },
    readFile: (file) => readFileSync(file, 'utf8'),
  });
  const urls = [registry.url, redis?.url ?? '', tenants[0]?.hub.baseUrl ?? ''];
  const hosts = kafka.brokers.map((broker) => broker.split(':')[0] ?? '');
  hosts.push(...urls.map((url) => new URL(url).hostname));
  expect(hosts.filter((host) => !(host in services))).toEqual([]);
  const needed = Object.keys(services['rollcall']?.depends_on ?? {});
  expect(needed.toSorted()).toEqual(['hub', 'kafka-1', 'kafka-2', 'kafka-3', 'redis', 'registry']);
});

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config.ts';
import { composeContainers } from '../../../stack/docker-services.ts';

const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

interface Service {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string | number>>;
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

it('the stack of the tests starts services of docker-compose.yml, at the ports that their variables say', () => {
  for (const { name, variable, usual } of Object.values(composeContainers).flat()) {
    const [port = '', ...others] = services[name]?.ports ?? [];
    expect([name, port.slice(0, port.lastIndexOf(':')), others]).toEqual([
      name,
      `127.0.0.1:\${${variable}:-${usual}}`,
      [],
    ]);
  }
});

it('the brokers in docker-compose.yml are one cluster, and each names its published address', () => {
  const brokers = Object.entries(services).filter(([, { image }]) => image?.startsWith('apache/kafka:'));
  const voters = brokers.map(
    ([name, { environment = {} }]) => `${environment['KAFKA_NODE_ID']}@${name}:9095`,
  );
  for (const [name, { environment = {}, ports: [port = ''] = [] }] of brokers) {
    const [, onMachine] = /^127\.0\.0\.1:(.+):9092$/.exec(port) ?? [];
    expect(environment).toMatchObject({
      CLUSTER_ID: expect.any(String) as string,
      KAFKA_CONTROLLER_QUORUM_VOTERS: voters.join(','),
      KAFKA_LISTENERS: 'HOST://:9092,NETWORK://:19092,CONTROLLER://:9095',
      KAFKA_ADVERTISED_LISTENERS: `HOST://localhost:${onMachine},NETWORK://${name}:19092`,
      KAFKA_DEFAULT_REPLICATION_FACTOR: brokers.length,
    });
  }
  expect([brokers.length, new Set(brokers.flatMap(([, { volumes }]) => volumes)).size]).toEqual([3, 3]);
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

it('docker-compose.yml has Prometheus scrape Rollcall and load its alerts, and Grafana query it', () => {
  const read = (name: string) => readFileSync(join(CHECKOUT, 'examples/compose', name), 'utf8');
  const prometheus = parse(read('prometheus.yaml')) as {
    rule_files: string[];
    scrape_configs: { static_configs: { targets: string[] }[] }[];
  };
  const targets = prometheus.scrape_configs.flatMap((each) =>
    each.static_configs.flatMap((some) => some.targets),
  );
  expect(targets).toEqual(['rollcall:8080']);
  const mounts = services['prometheus']?.volumes?.map((volume) => volume.split(':')[1]);
  for (const file of prometheus.rule_files) expect(mounts).toContain(file);
  expect(read('grafana/datasources.yaml')).toContain('url: http://prometheus:9090');
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { strimziResources } from '../../../src/cli/strimzi.ts';
import { topicsOf } from '../../../src/session/used-in-kafka.ts';
import { load, yamlWith } from '../config/config-text.ts';

const PEM = '"-----BEGIN CERTIFICATE-----"';

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

function resourcesWith(kafka: string): readonly Resource[] {
  const config = load(yamlWith({ tenant: 'collections: [users, orgs]', kafka }));
  const topics = config.tenants.flatMap((tenant) => topicsOf(config, tenant));
  return strimziResources(config.kafka, topics, 'schools') as readonly Resource[];
}

it('each topic is a KafkaTopic with the settings of the contract, under a name that Kubernetes takes', () => {
  const topics = resourcesWith('topicPrefix: Roll_call').filter(({ kind }) => kind === 'KafkaTopic');
  expect(topics.map(({ spec }) => spec['topicName'])).toContain('Roll_call.north.users');
  expect(topics[0]).toEqual({
    apiVersion: 'kafka.strimzi.io/v1',
    kind: 'KafkaTopic',
    metadata: {
      name: expect.stringMatching(/^roll-call\.north\.(users|orgs)$/),
      labels: { 'strimzi.io/cluster': 'schools' },
    },
    spec: {
      topicName: expect.stringMatching(/^Roll_call\.north\./),
      partitions: 3,
      replicas: 3,
      config: {
        'cleanup.policy': 'compact',
        'delete.retention.ms': '604800000',
        'segment.ms': '86400000',
        'max.compaction.lag.ms': '86400000',
      },
    },
  });
});

it('the KafkaUser has the rights that docs/operations.md names, and no others', () => {
  const document = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const commands = document.replaceAll('\\\n', ' ').matchAll(/kafka-acls\.sh … --add ([^\n]+)/g);
  const documented = [...commands].map(([, command = '']) => ({
    resource: {
      type: /--(topic|group|transactional-id) /.exec(command)?.[1]?.replace('-id', 'Id'),
      name: /--(?:topic|group|transactional-id) (\S+)/.exec(command)?.[1],
      patternType: 'prefix',
    },
    operations: [...command.matchAll(/--operation (\w+)/g)].map(([, operation]) => operation),
  }));
  const user = resourcesWith('').find(({ kind }) => kind === 'KafkaUser');
  expect(user?.spec['authorization']).toEqual({ type: 'simple', acls: documented });
});

it.each([
  ['sasl: { mechanism: scram-sha-512, username: mirror, password: x }', 'mirror', 'scram-sha-512'],
  [`ssl: { cert: ${PEM}, key: ${PEM} }`, 'rollcall', 'tls'],
  ['sasl: { mechanism: oauthbearer, tokenUrl: https://id, clientId: me, clientSecret: x }', 'me', undefined],
])(
  'the KafkaUser has the name and kind of log-in that the configuration has (case %$)',
  (kafka, name, type) => {
    const user = resourcesWith(kafka).find(({ kind }) => kind === 'KafkaUser');
    const authentication = user?.spec['authentication'] as { type: string } | undefined;
    expect([user?.metadata.name, authentication?.type]).toEqual([name, type]);
  },
);

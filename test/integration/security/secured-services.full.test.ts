import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { startReferenceHub, type ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { startProcess } from '../support/running.ts';
import { makeCertificates, type Certificates } from './support/certificates.ts';
import { grantKafkaRights, redisRights } from './support/documented-rights.ts';
import { startSecuredKafka, type SecuredKafka } from './support/secured-kafka.ts';
import { startSecuredRedis, type SecuredRedis } from './support/secured-redis.ts';
import { startSecuredRegistry, type SecuredRegistry } from './support/secured-registry.ts';

const SECRETS = {
  plain: 'S3CRET-plain',
  scram: 'S3CRET-scram',
  redis: 'S3CRET-redis',
  registry: 'S3CRET-registry',
};
const TOPIC = 'rollcall.north.orgs';

const folder = await mkdtemp(join(tmpdir(), 'rollcall-secured-'));
const endJanitor = removeWhenGone(folder);
const parts = new AsyncDisposableStack();
parts.defer(endJanitor);
parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
let hub: ReferenceHub;
let certificates: Certificates;
let kafka: SecuredKafka;
let redis: SecuredRedis;
let registry: SecuredRegistry;
let admin: Admin;

beforeAll(async () => {
  certificates = await makeCertificates(join(folder, 'certificates'));
  hub = await startReferenceHub({ students: 10, seed: 5 });
  parts.defer(() => hub.stop());
  kafka = parts.use(
    await startSecuredKafka({ folder: join(folder, 'kafka'), certificates, passwords: SECRETS }),
  );
  redis = parts.use(await startSecuredRedis(certificates, redisRights(), SECRETS.redis));
  registry = parts.use(await startSecuredRegistry(certificates, SECRETS.registry));
  admin = new Kafka({ brokers: [kafka.admin], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  parts.defer(() => admin.disconnect());
  await grantKafkaRights(admin);
});
// A private authority, as docs/operations.md says.
beforeEach(() => void vi.stubEnv('NODE_EXTRA_CA_CERTS', certificates.ca));
afterAll(() => parts.disposeAsync());

/** A configuration with the correct credentials, or others. */
function configWith(given: { kafka: object; redis?: string; registry?: string }): string {
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  const user = { username: 'rollcall' };
  return JSON.stringify({
    tenants: [
      {
        id: 'north',
        hub: { baseUrl, tokenUrl, clientId, clientSecret },
        collections: ['orgs'],
        deltaEvery: '500ms',
      },
    ],
    kafka: { replicationFactor: 1, ...given.kafka },
    registry: { url: registry.url, ...user, password: given.registry ?? SECRETS.registry },
    redis: { url: redis.url, ...user, password: given.redis ?? SECRETS.redis },
  });
}

/** All records of the topic that were ever written. */
async function recordsOfOrgs(): Promise<number> {
  const offsets = await admin.fetchTopicOffsets(TOPIC);
  return offsets.reduce((sum, { high }) => sum + Number(high), 0);
}

function inFile(path: string): string {
  return `\${file:${path}}`;
}

function saslOf(mechanism: string, password: string) {
  const ssl = { ca: inFile(certificates.ca) };
  return { brokers: kafka.sasl, ssl, sasl: { mechanism, username: 'rollcall', password } };
}

function right() {
  return saslOf('scram-sha-512', SECRETS.scram);
}

it.each([
  ['PLAIN', () => saslOf('plain', SECRETS.plain)],
  ['SCRAM-SHA-256', () => saslOf('scram-sha-256', SECRETS.scram)],
  [
    'a certificate of the client',
    () => {
      const { ca, client } = certificates;
      const ssl = { ca: inFile(ca), cert: inFile(client.cert), key: inFile(client.key) };
      return { brokers: kafka.mutualTls, ssl };
    },
  ],
])(
  'a sync goes through all services, with TLS, passwords and no more rights than documented, authenticated at Kafka by %s',
  async (_name, kafkaSettings) => {
    await using pull = startProcess(configWith({ kafka: kafkaSettings() }), 'pull', '--full');
    await pull.endsWith(0);
    expect(await recordsOfOrgs()).toBeGreaterThan(0);
    expect(pull.output()).not.toContain('S3CRET');
  },
);

it.each([
  [
    'wrong passwords of all three',
    () => ({
      kafka: saslOf('scram-sha-512', 'S3CRET-wrong'),
      redis: 'S3CRET-wrong',
      registry: 'S3CRET-wrong',
    }),
    [
      'Kafka refused the credentials',
      'kafka.sasl.mechanism, username and password',
      'refuses the user name or password',
      'redis.username and redis.password',
      'HTTP 401',
      'registry.username and registry.password',
    ],
  ],
  [
    'a certificate of Kafka that its authority did not sign',
    () => ({ kafka: { ...right(), ssl: { ca: inFile(certificates.client.cert) } } }),
    ['certificate', 'kafka.ssl.ca'],
  ],
  [
    'no TLS where Kafka wants it',
    () => ({ kafka: { ...right(), ssl: false } }),
    ['Kafka failed', 'kafka.ssl'],
  ],
])(
  'a service that cannot be used is reported with the setting to look at: %s',
  async (_name, given, texts) => {
    await using check = startProcess(configWith(given()), 'check');
    await check.endsWith(1);
    for (const text of texts) expect(check.output()).toContain(text);
    expect(check.output()).not.toContain('S3CRET');
  },
);

it('services whose certificates have an unknown authority are reported with the remedy', async () => {
  vi.stubEnv('NODE_EXTRA_CA_CERTS', undefined);
  await using check = startProcess(configWith({ kafka: right() }), 'check');
  await check.endsWith(1);
  expect(check.output().match(/NODE_EXTRA_CA_CERTS=<file>/g)).toHaveLength(2);
});

it('secrets in files may be replaced while the process runs: it uses them for its next request or connection', async () => {
  const path = (name: string): string => join(folder, `${name}.secret`);
  const write = (name: string, secret: string) => writeFile(path(name), `${secret}\n`);
  await write('kafka', SECRETS.scram);
  await write('redis', SECRETS.redis);
  await write('registry', 'S3CRET-wrong');
  const soon = { timeout: 60_000, interval: 100 };
  await using run = startProcess(
    configWith({
      kafka: saslOf('scram-sha-512', inFile(path('kafka'))),
      redis: inFile(path('redis')),
      registry: inFile(path('registry')),
    }),
    'run',
  );
  const shows = (text: string): Promise<void> =>
    vi.waitFor(async () => expect(await (await run.get('/readyz')).text()).toContain(text), soon);
  await shows('"part":"registry"');
  await write('registry', SECRETS.registry);
  await shows('"ready":true');
  await kafka.setPassword('S3CRET-kafka-2');
  await shows('"part":"kafka"');
  await write('kafka', 'S3CRET-kafka-2');
  await shows('"ready":true');
  await redis.setPassword('S3CRET-redis-2');
  await shows('"part":"redis"');
  await write('redis', 'S3CRET-redis-2');
  await shows('"ready":true');

  const before = await recordsOfOrgs();
  const [org = ''] = hub.district.ids('orgs');
  hub.district.patch('orgs', org, { name: 'Renamed' });
  await vi.waitFor(async () => expect(await recordsOfOrgs()).toBeGreaterThan(before), soon);
  run.kill('SIGTERM');
  await run.endsWith(0);
  expect(run.output()).not.toContain('S3CRET');
});

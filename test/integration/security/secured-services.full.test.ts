import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { startProcess } from '../support/running.ts';
import { grantKafkaRights, redisRights } from './support/documented-rights.ts';
import { inFile, startSecuredParts } from './support/secured-parts.ts';
import { startSecuredRedis } from './support/secured-redis.ts';
import { isUser, startSecuredRegistry } from './support/secured-registry.ts';

const SECRETS = {
  plain: 'S3CRET-plain',
  scram: 'S3CRET-scram',
  redis: 'S3CRET-redis',
  registry: 'S3CRET-registry',
};
const TOPIC = 'rollcall.north.orgs';

const parts = new AsyncDisposableStack();
afterAll(() => parts.disposeAsync());
const secured = await startSecuredParts(parts, SECRETS);
const { certificates, admin } = secured;
const redis = parts.use(await startSecuredRedis(certificates, redisRights(), SECRETS.redis));
const registry = parts.use(await startSecuredRegistry(certificates, isUser(SECRETS.registry)));
await grantKafkaRights(admin);
// A private authority, as docs/operations.md says.
beforeEach(() => void vi.stubEnv('NODE_EXTRA_CA_CERTS', certificates.ca));

/** A configuration with the correct credentials, or others. */
function configWith(given: { kafka: object; redis?: string; registry?: string; redisSsl?: object }): string {
  const user = { username: 'rollcall' };
  const { cert, encryptedKey, passphrase } = certificates.client;
  const certificate = { cert: inFile(cert), key: inFile(encryptedKey), passphrase };
  const ssl = { ca: inFile(certificates.ca), ...certificate, ...given.redisSsl };
  return secured.configWith({
    kafka: { replicationFactor: 1, ...given.kafka },
    registry: { url: registry.url, ...user, password: given.registry ?? SECRETS.registry },
    redis: { url: redis.url, ssl, ...user, password: given.redis ?? SECRETS.redis },
  });
}

/** All records of the topic that were ever written. */
async function recordsOfOrgs(): Promise<number> {
  const offsets = await secured.admin.fetchTopicOffsets(TOPIC);
  return offsets.reduce((sum, { high }) => sum + Number(high), 0);
}

function right() {
  return secured.saslOf('scram-sha-512', SECRETS.scram);
}

function withCertificate(key: string, passphrase?: string) {
  const ssl = {
    ca: inFile(certificates.ca),
    cert: inFile(certificates.client.cert),
    key: inFile(key),
    passphrase,
  };
  return { brokers: secured.kafka.mutualTls, ssl };
}

it.each([
  ['PLAIN', () => secured.saslOf('plain', SECRETS.plain)],
  ['SCRAM-SHA-256', () => secured.saslOf('scram-sha-256', SECRETS.scram)],
  ['a certificate of the client', () => withCertificate(certificates.client.key)],
  [
    'a certificate whose key is encrypted',
    () => withCertificate(certificates.client.encryptedKey, certificates.client.passphrase),
  ],
])(
  'a sync works over TLS with only the documented rights, logged in to Kafka by %s',
  async (_name, kafkaSettings) => {
    await using pull = startProcess(configWith({ kafka: kafkaSettings() }), 'pull', '--full');
    await pull.endsWith(0);
    expect(await recordsOfOrgs()).toBeGreaterThan(0);
    expect(pull.output()).not.toContain('S3CRET');
  },
);

it.each([
  [
    'wrong passwords of Kafka, Redis and the registry',
    () => ({
      kafka: secured.saslOf('scram-sha-512', 'S3CRET-wrong'),
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
    () => ({ kafka: { ...right(), ssl: { ca: inFile(secured.certificates.client.cert) } } }),
    ['certificate', 'kafka.ssl.ca'],
  ],
  [
    'no certificate of the client where Redis wants one',
    () => ({ kafka: right(), redisSsl: { cert: undefined, key: undefined, passphrase: undefined } }),
    ['Redis at 127.0.0.1', 'redis.ssl'],
  ],
  [
    'no TLS where Kafka wants it',
    () => ({ kafka: { ...right(), ssl: false } }),
    ['Kafka failed', 'kafka.ssl'],
  ],
])('"check" reports %s, with the setting to look at', async (_name, given, texts) => {
  await using check = startProcess(configWith(given()), 'check');
  await check.endsWith(1);
  for (const text of texts) expect(check.output()).toContain(text);
  expect(check.output()).not.toContain('S3CRET');
});

it('"check" reports services whose certificates have an unknown authority, with a remedy', async () => {
  vi.stubEnv('NODE_EXTRA_CA_CERTS', undefined);
  const redisSsl = { ca: undefined };
  await using check = startProcess(configWith({ kafka: right(), redisSsl }), 'check');
  await check.endsWith(1);
  expect(check.output().match(/NODE_EXTRA_CA_CERTS=<file>|set redis\.ssl\.ca/g)).toHaveLength(2);
});

it('a running process uses a secret that was replaced in its file for the next request or connection', async () => {
  const path = (name: string): string => join(secured.folder, `${name}.secret`);
  const write = (name: string, secret: string) => writeFile(path(name), `${secret}\n`);
  await write('kafka', SECRETS.scram);
  await write('redis', SECRETS.redis);
  await write('registry', 'S3CRET-wrong');
  await using run = startProcess(
    configWith({
      kafka: secured.saslOf('scram-sha-512', inFile(path('kafka'))),
      redis: inFile(path('redis')),
      registry: inFile(path('registry')),
    }),
    'run',
  );
  const shows = (text: string): Promise<void> =>
    vi.waitFor(async () => expect(await (await run.get('/readyz')).text()).toContain(text));
  await shows('"part":"registry"');
  await write('registry', SECRETS.registry);
  await shows('"ready":true');
  await secured.kafka.setPassword('S3CRET-kafka-2');
  await shows('"part":"kafka"');
  await write('kafka', 'S3CRET-kafka-2');
  await shows('"ready":true');
  await redis.setPassword('S3CRET-redis-2');
  await shows('"part":"redis"');
  await write('redis', 'S3CRET-redis-2');
  await shows('"ready":true');

  const before = await recordsOfOrgs();
  const { district } = secured.hub;
  const [org = ''] = district.ids('orgs');
  district.patch('orgs', org, { name: 'Renamed' });
  await vi.waitFor(async () => expect(await recordsOfOrgs()).toBeGreaterThan(before));
  run.kill('SIGTERM');
  await run.endsWith(0);
  expect(run.output()).not.toContain('S3CRET');
});

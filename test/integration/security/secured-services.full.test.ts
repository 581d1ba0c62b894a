import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startReferenceHub, type ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { startRollcall } from '../pipeline/rollcall-process.ts';
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

let folder: string;
let endJanitor: () => void;
let hub: ReferenceHub;
let certificates: Certificates;
let kafka: SecuredKafka;
let redis: SecuredRedis;
let registry: SecuredRegistry;
let admin: Admin;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-secured-'));
  endJanitor = removeWhenGone(folder);
  certificates = await makeCertificates(join(folder, 'certificates'));
  const at = (name: string) => ({ folder: join(folder, name), certificates });
  [hub, kafka, redis, registry] = await Promise.all([
    startReferenceHub({ students: 10, seed: 5 }),
    startSecuredKafka({ ...at('kafka'), passwords: SECRETS }),
    startSecuredRedis({ ...at('redis'), rights: redisRights(), password: SECRETS.redis }),
    startSecuredRegistry({ ...at('registry'), password: SECRETS.registry }),
  ]);
  admin = new Kafka({ brokers: [kafka.admin], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await grantKafkaRights(admin);
  // A private authority, as docs/operations.md says.
  vi.stubEnv('NODE_EXTRA_CA_CERTS', certificates.ca);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await admin?.disconnect();
  await Promise.all([hub, kafka, redis, registry].map((part) => part?.stop()));
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  endJanitor();
});

/** A configuration with the correct credentials, or others. */
function configWith(parts: { kafka: object; redis?: string; registry?: string; hub?: string }): string {
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  const user = { username: 'rollcall' };
  return JSON.stringify({
    tenants: [
      {
        id: 'north',
        hub: { baseUrl, tokenUrl, clientId, clientSecret: parts.hub ?? clientSecret },
        collections: ['orgs'],
        deltaEvery: '500ms',
      },
    ],
    kafka: { replicationFactor: 1, ...parts.kafka },
    registry: { url: registry.url, ...user, password: parts.registry ?? SECRETS.registry },
    redis: { url: redis.url, ...user, password: parts.redis ?? SECRETS.redis },
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
  return { brokers: [kafka.sasl], ssl, sasl: { mechanism, username: 'rollcall', password } };
}

function right() {
  return saslOf('scram-sha-512', SECRETS.scram);
}

describe('with TLS, passwords and no more rights than documented', () => {
  it.each([
    ['PLAIN', () => saslOf('plain', SECRETS.plain)],
    ['SCRAM-SHA-256', () => saslOf('scram-sha-256', SECRETS.scram)],
    ['SCRAM-SHA-512', () => right()],
    [
      'a certificate of the client',
      () => ({
        brokers: [kafka.mutualTls],
        ssl: {
          ca: inFile(certificates.ca),
          cert: inFile(certificates.client.cert),
          key: inFile(certificates.client.key),
        },
      }),
    ],
  ])('a sync goes through all services, authenticated at Kafka by %s', async (_name, kafkaSettings) => {
    await using pull = await startRollcall(['pull', '--full'], configWith({ kafka: kafkaSettings() }));
    await pull.endsWith(0);
    expect(await recordsOfOrgs()).toBeGreaterThan(0);
    expect(pull.output()).not.toContain('S3CRET');
  });
});

describe('a service that cannot be used', () => {
  it.each([
    [
      'a wrong password of Kafka',
      () => ({ kafka: saslOf('scram-sha-512', 'S3CRET-wrong') }),
      ['Kafka refused the credentials', 'kafka.sasl.mechanism, username and password'],
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
    [
      'a wrong password of Redis',
      () => ({ kafka: right(), redis: 'S3CRET-wrong' }),
      ['refuses the user name or password', 'redis.username and redis.password'],
    ],
    [
      'a wrong password of the registry',
      () => ({ kafka: right(), registry: 'S3CRET-wrong' }),
      ['HTTP 401', 'registry.username and registry.password'],
    ],
  ])('is reported with the setting to look at: %s', async (_name, parts, texts) => {
    await using check = await startRollcall(['check'], configWith(parts()));
    await check.endsWith(1);
    for (const text of texts) expect(check.output()).toContain(text);
    expect(check.output()).not.toContain('S3CRET');
  });

  it('is reported with the remedy when its certificate has an unknown authority', async () => {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', undefined);
    await using check = await startRollcall(['check'], configWith({ kafka: right() }));
    vi.stubEnv('NODE_EXTRA_CA_CERTS', certificates.ca);
    await check.endsWith(1);
    expect(check.output().match(/NODE_EXTRA_CA_CERTS=<file>/g)).toHaveLength(2);
  });
});

describe('secrets in files', () => {
  it('may be replaced while the process runs: it uses them for its next request or connection', async () => {
    const write = (name: string, secret: string) => writeFile(join(folder, `${name}.secret`), `${secret}\n`);
    const file = (name: string): string => inFile(join(folder, `${name}.secret`));
    await Promise.all([
      write('kafka', SECRETS.scram),
      write('redis', SECRETS.redis),
      write('registry', 'S3CRET-wrong'),
    ]);
    await using run = await startRollcall(
      ['run'],
      configWith({
        kafka: saslOf('scram-sha-512', file('kafka')),
        redis: file('redis'),
        registry: file('registry'),
      }),
    );
    const shows = async (text: string): Promise<void> => {
      await vi.waitFor(async () => expect((await run.readiness())?.text).toContain(text), {
        timeout: 60_000,
        interval: 100,
      });
    };
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
    await vi.waitFor(async () => expect(await recordsOfOrgs()).toBeGreaterThan(before), {
      timeout: 60_000,
      interval: 100,
    });
    run.kill('SIGTERM');
    await run.endsWith(0);
    expect(run.output()).not.toContain('S3CRET');
  });
});

import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, inject, it, vi } from 'vitest';
import { doubledRecords } from '../../oracle/rows.ts';
import { readTopicsAt } from '../support/read-topics.ts';
import { startProcess } from '../support/running.ts';
import { makeCertificates } from './support/certificates.ts';
import { grantKafkaRights } from './support/documented-rights.ts';
import { inFile, startSecuredParts } from './support/secured-parts.ts';
import { startSecuredRegistry } from './support/secured-registry.ts';
import { startTokenService } from './support/token-service.ts';

const SECRET = 'S3CRET-client';
const TOPIC = 'rollcall.north.orgs';

const parts = new AsyncDisposableStack();
afterAll(() => parts.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), 'rollcall-tokens-'));
parts.defer(() => rm(folder, { recursive: true, force: true }));
const certificates = await makeCertificates(folder);
const tokens = parts.use(await startTokenService(certificates, SECRET));
const others = parts.use(await startTokenService(certificates, SECRET));
// Brokers ask only addresses that their JVM is told.
vi.stubEnv('JDK_JAVA_OPTIONS', `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${tokens.keysUrl}`);
const passwords = { plain: 'S3CRET-plain', scram: 'S3CRET-scram' };
const secured = await startSecuredParts(parts, passwords, tokens.kafkaSettings);
await grantKafkaRights(secured.admin);
const registry = parts.use(await startSecuredRegistry(certificates, tokens.hasSigned));
const servers = { kafkaBrokers: [secured.kafka.admin], registryUrl: inject('stack').registryUrl };

const client = {
  tokenUrl: tokens.tokenUrl,
  clientId: 'rollcall',
  clientSecret: SECRET,
  ca: inFile(certificates.ca),
};

beforeEach(() => {
  tokens.issued = 0;
  tokens.lifetimeSeconds = 3600;
});

/** A configuration with these settings of the clients. */
function configWith({
  ofKafka = {},
  ofRegistry = {},
}: { ofKafka?: object; ofRegistry?: object } = {}): string {
  return secured.configWith({
    kafka: {
      ...secured.saslOf('oauthbearer', ''),
      sasl: { mechanism: 'oauthbearer', ...client, ...ofKafka },
    },
    registry: {
      url: registry.url,
      oauth: { ...client, ...ofRegistry },
      ssl: { ca: inFile(certificates.ca) },
    },
  });
}

it('a sync fetches one OAuth token for all connections to Kafka, and one token for the registry', async () => {
  await using pull = startProcess(configWith(), 'pull', '--full');
  await pull.endsWith(0);
  expect((await readTopicsAt(servers, [TOPIC])).length).toBeGreaterThan(0);
  expect(tokens.issued).toBe(2);
  expect(pull.output()).not.toContain('S3CRET');
});

it('OAuth tokens that expire while a process runs lose no record, and repeat no record', async () => {
  // The brokers end the session of a connection with its token.
  tokens.lifetimeSeconds = 8;
  await using run = startProcess(configWith(), 'run');
  await run.says('"mirroring"');
  const { district } = secured.hub;
  const [org = ''] = district.ids('orgs');
  const names: string[] = [];
  const records = () => readTopicsAt(servers, [TOPIC]);
  const published = async () =>
    (await records()).flatMap(({ key, value }) => {
      const name = String(value?.['name']);
      return key === org && name.startsWith('Name ') ? [name] : [];
    });
  while (tokens.issued < 8) {
    names.push(`Name ${names.length}`);
    district.patch('orgs', org, { name: names.at(-1) });
    await vi.waitFor(async () => expect(await published()).toEqual(names));
  }
  expect(doubledRecords(await records())).toEqual([]);
  const troubles = run.lines().filter((line) => /"level":"(warn|error|fatal)"/.test(line));
  expect(troubles).toEqual([]);
  run.kill('SIGTERM');
  await run.endsWith(0);
});

it.each([
  [
    'a wrong secret',
    { ofKafka: { clientSecret: 'S3CRET-wrong' }, ofRegistry: { clientSecret: 'S3CRET-wrong' } },
    ['invalid_client (HTTP 401)', 'kafka.sasl.clientSecret', 'registry.oauth.clientSecret'],
  ],
  [
    'a token of a service that the brokers do not trust',
    { ofKafka: { tokenUrl: others.tokenUrl } },
    ['Kafka refuses the token of kafka.sasl (invalid_token)', 'kafka.sasl.scope and audience'],
  ],
  [
    'no token service',
    {
      ofKafka: { tokenUrl: 'https://127.0.0.1:1/token' },
      ofRegistry: { tokenUrl: 'https://127.0.0.1:1/token' },
    },
    ['No token', 'the connection was refused', 'kafka.sasl.tokenUrl', 'registry.oauth.tokenUrl'],
  ],
  [
    'an authority of the token service that is not trusted',
    { ofKafka: { ca: inFile(certificates.client.cert) } },
    ['No token', 'TLS certificate is not trusted', 'kafka.sasl.tokenUrl'],
  ],
])('"check" says why an OAuth log-in fails, and which setting to look at: %s', async (_, given, texts) => {
  await using check = startProcess(configWith(given), 'check');
  await check.endsWith(1);
  const words = check.output().replaceAll(/\s+/g, ' ');
  for (const text of texts) expect(words).toContain(text);
  expect(check.output()).not.toContain('S3CRET');
});

it('a running process uses the new registry token when the file of the token is replaced', async () => {
  const path = join(folder, 'bearer');
  const write = async (token: string): Promise<void> => {
    await writeFile(`${path}.new`, token);
    await rename(`${path}.new`, path);
  };
  await write('not-a-token');
  const { sasl, ...rest } = secured.saslOf('scram-sha-512', passwords.scram);
  const config = secured.configWith({
    kafka: { ...rest, sasl },
    registry: { url: registry.url, bearerToken: inFile(path), ssl: { ca: inFile(certificates.ca) } },
  });
  await using run = startProcess(config, 'run');
  const shows = (text: string): Promise<void> =>
    vi.waitFor(async () => expect(await (await run.get('/readyz')).text()).toContain(text));
  await shows('"part":"registry"');
  await write(await tokens.issue());
  await shows('"ready":true');
});

it('a registry that wants a client certificate gets the certificate, by a key with a passphrase', async () => {
  const { client, ca } = secured.certificates;
  await using strict = await startSecuredRegistry(secured.certificates, null);
  const configOf = (ssl: object) =>
    secured.configWith({
      kafka: secured.saslOf('scram-sha-512', passwords.scram),
      registry: { url: strict.url, ssl: { ca: inFile(ca), ...ssl } },
    });
  const certificate = {
    cert: inFile(client.cert),
    key: inFile(client.encryptedKey),
    passphrase: client.passphrase,
  };
  await using pull = startProcess(configOf(certificate), 'pull', '--full');
  await pull.endsWith(0);
  await using check = startProcess(configOf({}), 'check');
  await check.endsWith(1);
  expect(check.output()).toContain('Check registry.ssl.cert and key');
});

import { beforeEach, expect, it } from 'vitest';
import { RunningConfig } from '../../../src/config/running-config.ts';
import type { Secret } from '../../../src/config/redacted-secret.ts';
import { jsonWith, tenantOf } from './config-text.ts';

const NOTHING = { added: [], changed: [], removed: [] };

let files: Record<string, string>;
let reads: number;
beforeEach(() => {
  reads = 0;
  files = { '/hub': 'hub-1', '/id': 'client-1' };
});

const tenant = (id: string, settings: object = {}, hub: object = {}) =>
  tenantOf(id, settings, { clientSecret: '${file:/hub}', ...hub });
const southWith = (settings: object, hub: object = {}) => ({
  tenants: [tenant('north'), tenant('south', settings, hub)],
});
const partitions = { default: 3, users: 6 };
const write = (written: object = {}): void => {
  const kafka = { brokers: ['localhost:9092'], partitions };
  files['rollcall.yaml'] = jsonWith([tenant('north'), tenant('south')], { kafka, ...written });
};

/** A configuration of north and south; `file` is what follows it. */
function opened(written: object = {}) {
  write(written);
  const file = new RunningConfig({
    path: 'rollcall.yaml',
    env: {},
    readFile: (path) => {
      reads += 1;
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
  });
  const settingsOf = (id: string) => file.config.tenants.find((each) => each.id === id);
  return { file, settingsOf, secretOf: (id: string) => settingsOf(id)?.hub.clientSecret.reveal() };
}

it('a changed configuration adds, changes and removes tenants, and keeps the objects of all others', () => {
  const { file, settingsOf } = opened({ tenants: ['a', 'b', 'c', 'd'].map((id) => tenant(id)) });
  expect(file.changed()).toBeNull();
  const kept = ['a', 'd'].map(settingsOf);
  write({ tenants: [tenant('d'), tenant('e'), tenant('a'), tenant('c', { incrementalEvery: '5m' })] });
  expect(file.changed()).toEqual({ added: ['e'], changed: ['c'], removed: ['b'] });
  for (const [at, id] of ['a', 'd'].entries()) expect(settingsOf(id)).toBe(kept[at]);
  expect(settingsOf('c')?.incrementalEveryMs).toBe(300_000);
  expect(file.config.tenants.map(({ id }) => id)).toEqual(['d', 'e', 'a', 'c']);
});

it.each([
  ['a setting of its hub', southWith({}, { pageSize: 10 }), ['south']],
  ['a list', southWith({ afterschools: ['x'] }), ['south']],
  ['another spelling of a default', southWith({ incrementalEvery: '1m' }), []],
  ['the order of tenants', { tenants: [tenant('south'), tenant('north')] }, []],
  ['deletions', { deletions: { confirmAfter: '1m' } }, ['north', 'south']],
])('a change of %s in the configuration affects only the tenants that have it', (_name, written, changed) => {
  const { file } = opened();
  write(written);
  expect(file.changed()).toEqual({ ...NOTHING, changed });
  expect(file.note).toBeNull();
  expect(file.config.deletions.confirmAfterMs).toBe(changed.length === 2 ? 60_000 : 300_000);
});

it('a replaced secret of a hub changes no tenant, and the new secret is taken at its next use', () => {
  const { file, settingsOf, secretOf } = opened();
  const before = settingsOf('south');
  files['/hub'] = 'hub-2';
  expect(file.changed()).toEqual(NOTHING);
  expect([secretOf('north'), secretOf('south')]).toEqual(['hub-2', 'hub-2']);
  files['/other'] = 'other-1';
  write(southWith({}, { clientSecret: '${file:/other}' }));
  expect(file.changed()).toEqual(NOTHING);
  expect([settingsOf('south') === before, secretOf('south')]).toEqual([true, 'other-1']);
  // also when the tenants before it have left, and their files too
  write({ tenants: southWith({}, { clientSecret: '${file:/other}' }).tenants.slice(1) });
  file.changed();
  delete files['/hub'];
  files['/other'] = 'other-2';
  file.changed();
  expect(secretOf('south')).toBe('other-2');
});

it('a replaced secret of Kafka or Redis is used at its next use, and a key of pseudonyms at a restart', () => {
  const pem = (kind: string, text: string) => `-----BEGIN ${kind}-----\n${text}`;
  const rotate = (number: number) =>
    Object.assign(files, {
      '/kafka': `kafka-${number}`,
      '/redis': `redis-${number}`,
      '/cert': pem('CERTIFICATE', `cert-${number}`),
      '/key': pem('PRIVATE KEY', `key-${number}`),
      '/pseudonyms': `key ${number} of sixteen characters or more`,
    });
  rotate(1);
  const { file } = opened({
    kafka: {
      brokers: ['localhost:9092'],
      sasl: { mechanism: 'plain', username: 'u', password: '${file:/kafka}' },
      ssl: { cert: '${file:/cert}', key: '${file:/key}' },
    },
    redis: { url: 'redis://h', password: '${file:/redis}' },
    pseudonymise: { key: '${file:/pseudonyms}' },
  });
  const { kafka, redis, pseudonymise } = file.config;
  const { cert, key } = kafka.ssl as Exclude<typeof kafka.ssl, boolean>;
  const logIn = kafka.sasl as { readonly password: Secret };
  const revealed = () => [logIn.password, redis?.password, cert, key].map((each) => each?.reveal());
  const { '/kafka': sasl, '/redis': password, '/cert': newCert, '/key': newKey } = rotate(2);
  expect(file.changed()).toEqual(NOTHING);
  expect(revealed()).toEqual([sasl, password, newCert, newKey]);
  expect(pseudonymise?.key.reveal()).toBe('key 1 of sixteen characters or more');
  expect(file.note?.why).toContain('differs in pseudonymise.key:');
  expect(file.note?.why).not.toContain('sixteen');
});

it('a client id in a file is no secret: its tenant changes with the file', () => {
  const { file } = opened({ tenants: [tenant('north', {}, { clientId: '${file:/id}' }), tenant('south')] });
  files['/id'] = 'client-2';
  expect(file.changed()).toEqual({ ...NOTHING, changed: ['north'] });
});

it('a running process keeps its configuration if the new one is invalid, and names each problem', () => {
  const { file, secretOf } = opened();
  const { tenants } = file.config;
  files['rollcall.yaml'] = 'tenants: []\nkafka: { brokers: ["localhost:9092"] }\nregistry: { uri: x }\n';
  files['/hub'] = 'hub-2';
  expect(file.changed()).toEqual(NOTHING);
  expect([file.config.tenants === tenants, file.isValid, secretOf('north')]).toEqual([true, false, 'hub-1']);
  const since = new Date(file.sinceMs).toISOString();
  expect(file.note?.why).toContain(
    `the configuration on disk is not valid, and the process goes on with the one from ${since}: rollcall.yaml has 3 problems: line 1: tenants names no tenant`,
  );
  expect(file.note?.why).toMatch(/line 3: registry.uri is not a known key.*\(CONFIG_INVALID\)/);
  const before = reads;
  expect(file.changed()).toBeNull();
  // It is compared, and not parsed.
  expect(reads - before).toBe(1);
  write({ tenants: [tenant('north')] });
  expect(file.changed()).toEqual({ ...NOTHING, removed: ['south'] });
  expect([file.isValid, file.note, secretOf('north')]).toEqual([true, null, 'hub-2']);
  expect(file.sinceMs).toBeGreaterThanOrEqual(Date.parse(since));
});

it.each([
  ['rollcall.yaml', 'There is no configuration at rollcall.yaml'],
  ['/hub', 'needs the file /hub'],
])('a configuration whose file %s is missing changes nothing', (path, why) => {
  const { file, secretOf } = opened();
  delete files[path];
  expect(file.changed()).toEqual(NOTHING);
  expect(file.note?.why).toContain(why);
  expect([file.changed(), secretOf('north')]).toEqual([null, 'hub-1']);
  files['/hub'] = 'hub-1';
  write();
  expect(file.changed()).toEqual(NOTHING);
  expect(file.isValid).toBe(true);
});

it('a changed setting of the process waits for a restart, but changed tenants are taken up at once', () => {
  const redis = (more: object) => ({ url: 'redis://one', username: 'one', password: 'redis-1', ...more });
  const { file } = opened({ redis: redis({}) });
  write({
    tenants: [tenant('north')],
    kafka: { partitions: { users: 6, default: 3 }, brokers: ['other:9092'], session: '20s' },
    // the password of another user waits as the user does
    redis: redis({ username: 'two', password: 'redis-2' }),
    http: { port: 1 },
  });
  files['/hub'] = 'hub-2';
  expect(file.changed()).toEqual({ ...NOTHING, removed: ['south'] });
  expect(file.config.kafka.brokers).toEqual(['localhost:9092']);
  expect(file.config.redis?.password?.reveal()).toBe('redis-1');
  expect(file.config.tenants[0]?.hub.clientSecret.reveal()).toBe('hub-2');
  const settings = 'kafka.brokers, kafka.session, redis.username, redis.password, http.port';
  expect(file.note?.why).toContain(`differs in ${settings}:`);
  expect(file.note?.remedy).toContain('Restart the process');
  expect(file.isValid).toBe(true);
  write({ redis: redis({ password: 'redis-3' }) });
  file.changed();
  expect([file.note, file.config.redis?.password?.reveal()]).toEqual([null, 'redis-3']);
});

it('the first key of pseudonyms is taken up together with the tenant that needs it', () => {
  const { file } = opened({ tenants: [tenant('north')] });
  const users = { collections: { users: { pseudonymise: ['email'] } } };
  const key = 'a key of sixteen characters or more';
  write({ tenants: [tenant('north', users)], pseudonymise: { key } });
  expect(file.changed()).toEqual({ ...NOTHING, changed: ['north'] });
  expect(file.config.pseudonymise?.key.reveal()).toBe(key);
  expect(file.note).toBeNull();
});

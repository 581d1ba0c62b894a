import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigFile } from '../../../src/config/config-file.ts';

const NOTHING = { added: [], changed: [], removed: [] };

let files: Record<string, string>;
let reads: number;
beforeEach(() => {
  reads = 0;
  files = { '/hub': 'hub-1', '/id': 'client-1' };
});

interface Written {
  readonly tenants?: readonly object[];
  readonly [section: string]: unknown;
}

const tenant = (id: string, settings: object = {}, hub: object = {}) => ({
  id,
  hub: {
    baseUrl: `https://hub.example/${id}`,
    tokenUrl: 'https://id.example/token',
    clientId: 'rollcall',
    clientSecret: '${file:/hub}',
    ...hub,
  },
  ...settings,
});
const southWith = (settings: object, hub: object = {}) => ({
  tenants: [tenant('north'), tenant('south', settings, hub)],
});
const write = (written: Written = {}): void => {
  files['rollcall.yaml'] = JSON.stringify({
    tenants: [tenant('north'), tenant('south')],
    kafka: { brokers: ['localhost:9092'], partitions: { default: 3, users: 6 } },
    registry: { url: 'http://localhost:8081' },
    ...written,
  });
};

/** A configuration of north and south; `file` is what follows it. */
function opened(written: Written = {}) {
  write(written);
  const file = new ConfigFile({
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

describe('a changed configuration', () => {
  it('is none while no file has another content', () => {
    const { file } = opened();
    expect(file.changed()).toBeNull();
    write();
    expect(file.changed()).toBeNull();
  });

  it('adds, changes and removes tenants, and leaves the others the objects that they are', () => {
    const { file, settingsOf } = opened({ tenants: ['a', 'b', 'c', 'd'].map((id) => tenant(id)) });
    const kept = ['a', 'd'].map(settingsOf);
    write({ tenants: [tenant('d'), tenant('e'), tenant('a'), tenant('c', { deltaEvery: '5m' })] });
    expect(file.changed()).toEqual({ added: ['e'], changed: ['c'], removed: ['b'] });
    expect(['a', 'd'].map(settingsOf)).toEqual(kept);
    for (const [at, id] of ['a', 'd'].entries()) expect(settingsOf(id)).toBe(kept[at]);
    expect(settingsOf('c')?.deltaEveryMs).toBe(300_000);
    expect(file.config.tenants.map(({ id }) => id)).toEqual(['d', 'e', 'a', 'c']);
    expect(file.note).toBeNull();
  });

  it.each([
    ['a setting of its hub', southWith({}, { pageSize: 10 }), ['south']],
    ['a list', southWith({ afterschools: ['x'] }), ['south']],
    ['the address of its hub', southWith({}, { baseUrl: 'https://other.example' }), ['south']],
    ['a default that is written out', southWith({ deltaEvery: '60s' }), []],
    ['another spelling of a duration', southWith({ deltaEvery: '1m' }), []],
    ['the order of tenants', { tenants: [tenant('south'), tenant('north')] }, []],
    [
      'the order of keys',
      { kafka: { partitions: { users: 6, default: 3 }, brokers: ['localhost:9092'] } },
      [],
    ],
  ])('changes by %s only the tenants that have it', (_name, written, changed) => {
    const { file } = opened();
    write(written);
    expect(file.changed()).toEqual({ ...NOTHING, changed });
    expect(file.note).toBeNull();
  });

  it('of deletions changes every tenant, and counts from when it was read', () => {
    const { file } = opened();
    const before = file.sinceMs;
    expect(Math.abs(Date.now() - before)).toBeLessThan(60_000);
    write({ deletions: { confirmAfter: '1m' } });
    expect(file.changed()).toEqual({ ...NOTHING, changed: ['north', 'south'] });
    expect(file.config.deletions.confirmAfterMs).toBe(60_000);
    expect(file.sinceMs).toBeGreaterThanOrEqual(before);
  });
});

describe('a secret', () => {
  it('that is rotated in its file, or another one in the configuration, changes no tenant, and is the new one at its next use', () => {
    const { file, settingsOf, secretOf } = opened();
    const before = settingsOf('south');
    files['/hub'] = 'hub-2';
    expect(file.changed()).toEqual(NOTHING);
    expect([secretOf('north'), secretOf('south')]).toEqual(['hub-2', 'hub-2']);
    files['/other'] = 'other-1';
    write(southWith({}, { clientSecret: '${file:/other}' }));
    expect(file.changed()).toEqual(NOTHING);
    expect([settingsOf('south') === before, secretOf('south')]).toEqual([true, 'other-1']);
    files['/other'] = 'other-2';
    file.changed();
    expect([secretOf('north'), secretOf('south')]).toEqual(['hub-2', 'other-2']);
  });

  it('follows its file when tenants before it have left, and their files too', () => {
    files['/north'] = 'north-1';
    const { file, secretOf } = opened({
      tenants: [tenant('north', {}, { clientSecret: '${file:/north}' }), tenant('south')],
    });
    write({ tenants: [tenant('south')] });
    file.changed();
    delete files['/north'];
    files['/hub'] = 'hub-2';
    file.changed();
    expect(secretOf('south')).toBe('hub-2');
  });

  it('keeps its value while its file is missing, or the configuration is not valid', () => {
    const { file, secretOf } = opened();
    delete files['/hub'];
    file.changed();
    files['rollcall.yaml'] = 'tenants: [';
    files['/hub'] = 'hub-2';
    file.changed();
    expect(secretOf('north')).toBe('hub-1');
    write();
    file.changed();
    expect(secretOf('north')).toBe('hub-2');
  });

  it('of Kafka and Redis, and each file of its certificate, is the new one at its next use; a key of pseudonyms waits', () => {
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
    const revealed = () => [kafka.sasl?.password, redis?.password, cert, key].map((each) => each?.reveal());
    const { '/kafka': sasl, '/redis': password, '/cert': newCert, '/key': newKey } = rotate(2);
    expect(file.changed()).toEqual(NOTHING);
    expect(revealed()).toEqual([sasl, password, newCert, newKey]);
    expect(pseudonymise?.key.reveal()).toBe('key 1 of sixteen characters or more');
    expect(file.note?.why).toContain('another pseudonymise.key:');
    expect(file.note?.why).not.toContain('sixteen');
  });

  it('of another user waits for a start as the user does', () => {
    const redis = (username: string, password: string) => ({ url: 'redis://h', username, password });
    const { file } = opened({ redis: redis('one', 'redis-1') });
    write({ redis: redis('two', 'redis-2') });
    files['/hub'] = 'hub-2';
    expect(file.changed()).toEqual(NOTHING);
    expect(file.config.redis?.password?.reveal()).toBe('redis-1');
    expect(file.config.tenants[0]?.hub.clientSecret.reveal()).toBe('hub-2');
    expect(file.note?.why).toContain('another redis.username, redis.password');
  });

  it('is none if it is the id of a client: the tenant changes with the file', () => {
    const { file } = opened({ tenants: [tenant('north', {}, { clientId: '${file:/id}' }), tenant('south')] });
    files['/id'] = 'client-2';
    expect(file.changed()).toEqual({ ...NOTHING, changed: ['north'] });
  });
});

describe('a configuration that is not valid', () => {
  it('changes nothing, and the note says each problem with its line and path, and since when the process has the other', () => {
    const { file } = opened();
    const { tenants } = file.config;
    files['rollcall.yaml'] = 'tenants: []\nkafka: { brokers: ["localhost:9092"] }\nregistry: { uri: x }\n';
    expect(file.changed()).toEqual(NOTHING);
    expect(file.config.tenants).toBe(tenants);
    expect(file.isValid).toBe(false);
    const since = new Date(file.sinceMs).toISOString();
    expect(file.note?.why).toContain(
      `the configuration on disk is not valid, and the process goes on with the one from ${since}: rollcall.yaml has 3 problems: line 1: tenants names no tenant`,
    );
    expect(file.note?.why).toContain('line 3: registry.uri is not a known key');
    expect(file.note?.why).toContain('(CONFIG_INVALID)');
  });

  it('is read once for a content, and a corrected one ends the note', () => {
    const { file } = opened();
    files['rollcall.yaml'] = 'tenants: [';
    expect(file.changed()).toEqual(NOTHING);
    const before = reads;
    expect(file.changed()).toBeNull();
    // It is compared, and not parsed.
    expect(reads - before).toBe(1);
    write({ tenants: [tenant('north')] });
    expect(file.changed()).toEqual({ ...NOTHING, removed: ['south'] });
    expect([file.isValid, file.note]).toEqual([true, null]);
  });

  it.each([
    ['is missing', () => delete files['rollcall.yaml'], 'There is no configuration at rollcall.yaml'],
    ['names a file that is missing', () => delete files['/hub'], 'needs the file /hub'],
    [
      'needs a variable that the process has not got',
      () => write({ tenants: [tenant('new', {}, { clientSecret: '${NEW}' })] }),
      'needs the environment variable NEW, which is not set',
    ],
  ])('is one that %s', (_name, change, why) => {
    const { file } = opened();
    change();
    expect(file.changed()).toEqual(NOTHING);
    expect(file.note?.why).toContain(why);
    expect(file.changed()).toBeNull();
    files['/hub'] = 'hub-1';
    write();
    expect(file.changed()).toEqual(NOTHING);
    expect(file.isValid).toBe(true);
  });
});

describe('a setting of the process', () => {
  it('stays as it was at the start, is named with its path, and does not keep the tenants from changing', () => {
    const { file } = opened({ redis: { url: 'redis://one', password: 'redis-1' } });
    write({
      tenants: [tenant('north')],
      kafka: { brokers: ['other:9092'], session: '20s', partitions: { default: 3, users: 6 } },
      redis: { url: 'redis://one', password: 'redis-1', keyPrefix: 'other' },
      http: { port: 1 },
    });
    expect(file.changed()).toEqual({ ...NOTHING, removed: ['south'] });
    expect(file.config.kafka.brokers).toEqual(['localhost:9092']);
    expect(file.note?.why).toContain('another kafka.brokers, kafka.session, redis.keyPrefix, http.port:');
    expect(file.note?.remedy).toContain('Restart the process');
    expect(file.isValid).toBe(true);
    write({ redis: { url: 'redis://one', password: 'redis-2' } });
    file.changed();
    expect(file.note).toBeNull();
    expect(file.config.redis?.password?.reveal()).toBe('redis-2');
  });

  it('the first key of pseudonyms is taken up with the tenant that needs it', () => {
    const { file } = opened({ tenants: [tenant('north')] });
    const users = { collections: { users: { pseudonymise: ['email'] } } };
    const key = 'a key of sixteen characters or more';
    write({ tenants: [tenant('north', users)], pseudonymise: { key } });
    expect(file.changed()).toEqual({ ...NOTHING, changed: ['north'] });
    expect(file.config.pseudonymise?.key.reveal()).toBe(key);
    expect(file.note).toBeNull();
  });
});

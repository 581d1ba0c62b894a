import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { EXIT, exitCodeOf } from '../../../src/cli/exit-code.ts';
import { load, refusal, refusalOf, yamlWith } from './config-text.ts';

describe('defaults', () => {
  it('the smallest configuration has the defaults of the contract', () => {
    const config = load(yamlWith());
    const asked = { clientAuth: 'basic', scope: '', pageSize: 1000, paging: 'auto', totals: 'compared' };
    const [schedules, withholdAbove] = [
      { students: 'absent', daysBack: 7, daysAhead: 14 },
      { rows: 50, ratio: 0.05 },
    ];
    expect(config.tenants[0]).toMatchObject({
      hub: { ...asked, maxConcurrentRequests: 4, requestTimeoutMs: 60_000 },
      fullPull: { at: '04:00', timeZone: 'Europe/Oslo' },
      deltaEveryMs: 60_000,
      deltaOverlapMs: 300_000,
      afterschools: [],
      schedules,
      absences: { forgetAfterMs: 30 * 86_400_000 },
    });
    const kafka = { topicPrefix: 'rollcall', replicationFactor: 3, partitions: { default: 3 }, ssl: false };
    expect(config.kafka).toMatchObject(kafka);
    expect(config.http).toEqual({ host: '127.0.0.1', port: 8080 });
    expect(config.deletions).toEqual({ withholdAbove, confirmAfterMs: 300_000 });
    expect(config.redis).toBeUndefined();
    // without the slashes at its end
    expect(config.tenants[0]?.hub.baseUrl).toBe('https://hub.example/north');
  });
});

describe('every problem at once, each with its path and line', () => {
  it('a missing variable, an unknown key and a bad value are reported together', () => {
    const message = refusalOf(yamlWith({ hub: 'pageSize: ten', root: 'htpp: {}' }), { env: {} });
    expect(message.split('\n')).toEqual([
      'rollcall.yaml has 3 problems:',
      '  line 7: tenants[0].hub.clientSecret needs the environment variable HUB_SECRET, which is not set',
      '  line 8: tenants[0].hub.pageSize must be a whole number',
      '  line 12: htpp is not a known key',
    ]);
  });

  it('where only variables are missing, the remedy is to set them', () => {
    expect(refusal(() => load(yamlWith(), { env: {} })).remedy).toMatch(/^Set each variable/);
    expect(refusal(() => load(yamlWith({ root: 'htpp: {}' }), { env: {} })).remedy).toMatch(
      /^Correct the configuration/,
    );
  });

  it.each([
    ['hub: an unknown key', { hub: 'base_url: x' }, 'tenants[0].hub.base_url', 'not a known key'],
    [
      'a key in settings',
      { tenant: 'collections: { results: { dorp: [] } }' },
      'results.dorp',
      'not a known',
    ],
    ['a collection as a key', { tenant: 'collections: { result: {} }' }, 'collections.result', 'not a known'],
    ['a collection in a list', { tenant: 'collections: [user]' }, 'collections[0]', 'users'],
    ['constructor as a key', { tenant: 'constructor: {}' }, 'tenants[0].constructor', 'not a known key'],
    ['a section without a value', { root: 'http:' }, 'http', 'has no value'],
    ['an unknown time zone', { tenant: 'fullPull: { timeZone: Oslo }' }, 'timeZone', 'Europe/Oslo'],
    ['an offset as a time zone', { tenant: 'fullPull: { timeZone: "+01:00" }' }, 'timeZone', 'IANA'],
    ['an invalid hour', { tenant: 'fullPull: { at: "24:00" }' }, 'fullPull.at', 'HH:MM'],
    ['a duration without unit', { tenant: 'deltaEvery: "60"' }, 'deltaEvery', 'not a duration'],
    ['a duration as a number', { tenant: 'deltaEvery: 60' }, 'deltaEvery', 'duration'],
    [
      'a duration too long to count',
      { tenant: 'deltaEvery: 999999999999d' },
      'deltaEvery',
      'must be between',
    ],
    ['a delta that never pauses', { tenant: 'deltaEvery: 0s' }, 'deltaEvery', 'between'],
    ['a page size of 0', { hub: 'pageSize: 0' }, 'hub.pageSize', 'at least 1'],
    ['a way of paging', { hub: 'paging: keysets' }, 'hub.paging', 'keyset'],
    ['missing credentials', { kafka: 'sasl: {}' }, 'kafka.sasl.mechanism', 'is missing'],
    ['no partitions', { kafka: 'partitions: 0' }, 'kafka.partitions', 'at least 1'],
    [
      'partitions of progress',
      { kafka: 'partitions: { progress: 3 }' },
      'partitions.progress',
      'not a known',
    ],
    ['a mechanism', { kafka: 'sasl: { mechanism: gssapi, username: u, password: p }' }, 'mechanism', 'plain'],
    ['a certificate alone', { kafka: 'ssl: { cert: "-----BEGIN X-----" }' }, 'kafka.ssl.key', 'missing'],
    ['a Redis scheme', { root: 'redis: { url: "http://h" }' }, 'redis.url', 'redis://'],
    ['a short key', { root: 'pseudonymise: { key: short }' }, 'pseudonymise.key', '16'],
    ['a port', { root: 'http: { port: 65536 }' }, 'http.port', 'at most 65535'],
    ['a ratio', { root: 'deletions: { withholdAbove: { ratio: 5 } }' }, 'ratio', 'at most 1'],
    ['text where a list is', { tenant: 'afterschools: one' }, 'afterschools', 'must be a list'],
    ['a number as an id', { tenant: 'afterschools: [5]' }, 'afterschools[0]', 'in quotes'],
  ])('%s is refused', (_name, parts, path, hint) => {
    const message = refusalOf(yamlWith(parts));
    expect(message).toContain(path);
    expect(message).toContain(hint);
    expect(message).toMatch(/line \d+: /);
  });

  it.each([
    ['https://hub.example/north/', 'http://user:pw@hub.example', 'must not contain a user name'],
    ['https://hub.example/north/', 'https://hub.example/?a=b', 'query'],
    ['https://hub.example/north/', 'https://hub.example/#', 'fragment'],
    ['https://hub.example/north/', 'ftp://hub.example', 'https:// or http://'],
    ['https://hub.example/north/', 'hub.example', 'not an address'],
    ['localhost:9092', 'localhost', 'must be host:port'],
    ['localhost:9092', 'kafka://localhost:9092', 'must be host:port'],
    ['localhost:9092', 'a:b@localhost:9092', 'must be host:port'],
    ['localhost:9092', 'localhost:9092,other:9092', 'must be host:port'],
  ])('in place of %s the address %s is refused', (address, other, hint) => {
    const path = address === 'localhost:9092' ? 'kafka.brokers[0]' : 'tenants[0].hub.baseUrl';
    const message = refusalOf(yamlWith().replace(address, other));
    expect(message).toContain(path);
    expect(message).toContain(hint);
  });

  it('two tenants with one id are refused, as they would share topics, and a refusal ends the command with 2', () => {
    const yaml = yamlWith();
    const tenant = yaml.slice(yaml.indexOf('  - id'), yaml.indexOf('kafka:'));
    const error = refusal(() => load(yaml.replace('kafka:', `${tenant}kafka:`)));
    expect(error.message).toContain('tenants[1].id is the same as tenants[0].id');
    expect(exitCodeOf(error)).toBe(EXIT.badUse);
  });

  it.each([
    ['ENOENT', 'There is no configuration at ./rollcall.yaml', 'rollcall init'],
    ['EACCES', 'The configuration ./rollcall.yaml cannot be read (EACCES)', 'may read'],
  ])('a file that gives %s is refused with what to do', (code, message, remedy) => {
    const readFile = () => {
      throw Object.assign(new Error('not shown'), { code });
    };
    const error = refusal(() => loadConfig({ path: './rollcall.yaml', env: {}, readFile }));
    expect(error.message).toBe(message);
    expect(error.remedy).toContain(remedy);
  });
});

it('a verb that sends the hub no request needs no credential of the hub, but every other variable', () => {
  const withoutHub = (yaml: string) =>
    loadConfig({ path: 'rollcall.yaml', env: {}, readFile: () => yaml, withoutHub: true });
  expect(withoutHub(yamlWith()).tenants[0]?.id).toBe('north');
  expect(refusalOf(yamlWith(), { env: {} })).toContain('HUB_SECRET');
  const yaml = yamlWith({ root: 'redis: { url: "redis://h", password: "${REDIS_SECRET}" }' });
  const { message } = refusal(() => withoutHub(yaml));
  expect(message).toContain('REDIS_SECRET');
  expect(message).not.toContain('HUB_SECRET');
});

describe('fields that must stay as they are', () => {
  it.each([
    ['drop', 'results', 'sourcedId'],
    ['pseudonymise', 'users', 'sourcedId'],
    ['drop', 'absence-versions', 'replaces'],
    ['pseudonymise', 'absence-versions', 'fromTime'],
  ])('%s of %s.%s is refused', (kind, collection, field) => {
    const tenant = `collections: { ${collection}: { ${kind}: [${field}] } }`;
    const message = refusalOf(yamlWith({ tenant, root: 'pseudonymise: { key: 0123456789abcdef }' }));
    expect(message).toContain(`tenants[0].collections.${collection}.${kind}[0]`);
  });

  it('the same field of a collection that does not need it is dropped', () => {
    const config = load(yamlWith({ tenant: 'collections: { results: { drop: [replaces] } }' }));
    expect(config.tenants[0]?.collections.results.drop).toEqual(['replaces']);
  });

  it('pseudonymise without a key is refused, even beside other problems', () => {
    const tenant = 'collections: { users: { pseudonymise: [email] } }\nzebra: 1';
    const message = refusalOf(yamlWith({ tenant }));
    expect(message).toContain('tenants[0].collections.users.pseudonymise needs pseudonymise.key');
    expect(message).toContain('tenants[0].zebra');
  });
});

describe('broken YAML', () => {
  it.each([
    ['a quote that does not end', 'a: "b\nc', /line \d+: .*missing char.*column \d+/],
    ['a tab', 'a:\n\tb: 1', /line 2: .*tab.*column 1/],
    ['a key twice', 'a: 1\na: 2', /line 2: .*duplicate key/],
    ['a second document', 'a: 1\n---\nb: 2', /multiple docs/],
    ['nothing', '', /is empty/],
    ['a list', '- a', /must be a map/],
    ['a very deep file', '['.repeat(20_000), /rollcall\.yaml/],
    ['aliases that multiply', aliasBomb(), /alias/],
    [
      'a * without quotes',
      yamlWith({ root: 'redis: { url: "redis://h", password: *pass }' }),
      /needs quotes/,
    ],
  ])('%s is refused with its place', (_name, yaml, expected) => {
    expect(refusalOf(yaml)).toMatch(expected);
  });
});

function aliasBomb(): string {
  const lines = Array.from({ length: 12 }, (_, index) => {
    const items = Array.from({ length: 12 }, () => `*a${index}`).join(', ');
    return `a${index + 1}: &a${index + 1} [${items}]`;
  });
  return ['a0: &a0 [x]', ...lines].join('\n');
}

describe('the example', () => {
  it('examples/rollcall.yaml is accepted and names every key', () => {
    const text = readFileSync(new URL('../../../examples/rollcall.yaml', import.meta.url), 'utf8');
    const names = [...text.matchAll(/[^$]\$\{([A-Z_]+)\}/g)].map((match) => match[1] ?? '');
    const env = Object.fromEntries(names.map((name) => [name, `${name}-0123456789`]));
    env['KAFKA_CA'] = '-----BEGIN CERTIFICATE-----';
    const config = load(text, { env });
    const schema = readFileSync(new URL('../../../config.schema.json', import.meta.url), 'utf8');
    const keys = new Set(
      [...schema.matchAll(/"(\w+)": \{\n\s+"(?:description|type|default|anyOf|minItems|maxItems)/g)].map(
        (match) => match[1] ?? '',
      ),
    );
    // These are words of JSON Schema itself, and two words of a comment in the example.
    for (const word of ['items', 'propertyNames', 'additionalProperties', 'placeholder']) keys.delete(word);
    expect(keys.size).toBeGreaterThan(50);
    expect([...keys].filter((key) => !new RegExp(`\\b${key}:`).test(text))).toEqual([]);
    expect(config.tenants).toHaveLength(1);
    expect(config.redis?.keyPrefix).toBe('rollcall');
  });
});

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { checkText, enabledCollections, loadConfig, partitionsOf } from '../../../src/config.ts';
import { parseDurationMs } from '../../../src/config/fields.ts';
import { EXIT, exitCodeOf } from '../../../src/cli/exit-code.ts';
import { RollcallError } from '../../../src/errors.ts';
import { COLLECTIONS } from '../../../src/model/collections.ts';
import { load, loadFilled, PEM, refusal, refusalOf, yamlWith } from './config-text.ts';
import { forMany } from '../support/for-all.ts';

function tenantWith(text: string) {
  const [tenant] = load(yamlWith({ tenant: text })).tenants;
  if (tenant === undefined) throw new Error('no tenant');
  return tenant;
}

/** Checks the text alone, as `check --offline` does. */
const offline = (yaml: string) => checkText({ path: 'rollcall.yaml', readFile: () => yaml });

const namesOf = (text: string): string[] => enabledCollections(tenantWith(text)).map(({ name }) => name);
const DEFAULT = COLLECTIONS.filter((name) => name !== 'class-students' && name !== 'afterschool-users');

it('all problems of a configuration are reported together, each with its line and path', () => {
  const yaml = yamlWith({ hub: 'pageSize: ten', root: 'htpp: {}' });
  const tenant = yaml.slice(yaml.indexOf('  - id'), yaml.indexOf('kafka:')).replace('ten', '10');
  const error = refusal(() => load(yaml.replace('kafka:', `${tenant}kafka:`), { env: {} }));
  expect(error.message.split('\n')).toEqual([
    'rollcall.yaml has 5 problems:',
    '  line 7: tenants[0].hub.clientSecret needs the environment variable HUB_SECRET, which is not set',
    '  line 8: tenants[0].hub.pageSize must be a whole number',
    '  line 9: tenants[1].id is the same as tenants[0].id; ids must differ',
    '  line 14: tenants[1].hub.clientSecret needs the environment variable HUB_SECRET, which is not set',
    '  line 19: htpp is not a known key; did you mean http?',
  ]);
  expect(error.remedy).toMatch(/^Correct the configuration/);
  expect(exitCodeOf(error)).toBe(EXIT.badUse);
  expect(refusal(() => load(yamlWith(), { env: {} })).remedy).toMatch(/^Set each variable/);
});

it.each([
  [{ hub: 'clientSceret: x' }, 'hub.clientSceret is not a known key; did you mean clientSecret?'],
  [{ tenant: 'collections: { result: {} }' }, 'result is not a known key; did you mean results?'],
  [{ tenant: 'collections: { users: { Drop: [] } }' }, 'users.Drop is not a known key; did you mean drop?'],
  [{ root: 'htpp: {}' }, 'line 11: htpp is not a known key; did you mean http?'],
  [{ root: 'telemetry: {}' }, 'telemetry is not a known key\n'],
])('a mistyped key is reported with the intended key: %j', (parts, message) => {
  expect(`${refusalOf(yamlWith(parts))}\n`).toContain(message);
});

it.each([
  ['redis: { url: "redis://h", pasword: "${X}" }', 'redis.pasword', 'password'],
  ['notify: { url: "https://h", tokn: "${X}" }', 'notify.tokn', 'token'],
  ['notfy: { url: "${X}" }', 'notfy', 'notify'],
  ['http: { prt: "${file:/x}" }', 'http.prt', 'port'],
])('a mistyped key is reported even with an unfilled value: %s', (root, path, meant) => {
  const yaml = yamlWith({ root });
  const message = `line 11: ${path} is not a known key; did you mean ${meant}?`;
  expect(refusalOf(yaml)).toContain(message);
  expect(refusal(() => offline(yaml)).message).toBe(`rollcall.yaml: ${message}`);
});

it.each([
  ['pasword', 'is not a known key; did you mean password?'],
  ['clientSecret', 'belongs to the mechanism oauthbearer, not to the one that is set'],
])('a key of kafka.sasl that the mechanism plain does not have is refused: %s', (key, message) => {
  const kafka = `sasl: { mechanism: plain, username: u, ${key}: "\${X}" }`;
  expect(refusalOf(yamlWith({ kafka }))).toContain(`kafka.sasl.${key} ${message}`);
});

it('a missing section is reported with all keys that it needs', () => {
  const message = refusalOf('tenants: [{ id: north }]\nkafka: { sasl: { mechanism: plain } }');
  for (const line of [
    'tenants[0].hub is missing; it needs baseUrl, tokenUrl, clientId, clientSecret',
    'registry is missing; it needs url',
    'kafka.brokers is missing',
    'kafka.sasl.username is missing',
  ])
    expect(message).toContain(line);
  expect(refusalOf('{}')).toContain('tenants is missing; it needs id, hub.baseUrl, hub.tokenUrl');
});

it.each([
  [{ tenant: 'collections: [user]' }, 'collections[0]', 'users'],
  [{ tenant: 'constructor: {}' }, 'tenants[0].constructor', 'not a known key'],
  [{ root: 'http:' }, 'http', 'has no value'],
  [{ tenant: 'fullSync: { timeZone: Oslo }' }, 'timeZone', 'Europe/Oslo'],
  [{ tenant: 'fullSync: { timeZone: "+01:00" }' }, 'timeZone', 'IANA'],
  [{ tenant: 'incrementalEvery: "60"' }, 'incrementalEvery', 'not a duration'],
  [{ tenant: 'incrementalEvery: 999999999999d' }, 'incrementalEvery', 'must be between'],
  [{ hub: 'pageSize: 0' }, 'hub.pageSize', 'at least 1'],
  [{ hub: 'paging: keysets' }, 'hub.paging', 'keyset'],
  [{ kafka: 'sasl: {}' }, 'kafka.sasl.mechanism', 'is missing'],
  [{ kafka: 'sasl: { mechanism: oauth }' }, 'kafka.sasl.mechanism', 'scram-sha-512, oauthbearer'],
  [{ kafka: 'sasl: { mechanism: aws-msk-iam }' }, 'kafka.sasl.region', 'is missing'],
  [{ kafka: 'sasl: { mechanism: oauthbearer, username: u }' }, 'sasl.username', 'plain or scram-sha-256 or'],
  [{ kafka: 'sasl: { mechanism: AWS-MSK-IAM, region: eu }' }, 'kafka.ssl', 'must be true: Amazon MSK'],
  [{ root: 'redis: { url: "rediss://a,rediss://b" }' }, 'redis.url', 'before all hosts: rediss://a:6379,b'],
  [{ kafka: 'ssl: { ca: /ca.pem }' }, 'kafka.ssl.ca', 'not PEM'],
  [{ kafka: 'ssl: { cert: "-----BEGIN X-----" }' }, 'kafka.ssl.key', 'missing'],
  [{ root: 'redis: { url: "http://h" }' }, 'redis.url', 'redis://'],
  [{ root: 'redis: { url: ["redis://a"] }' }, 'redis.url', 'several hosts in one address: redis://a:6379,b'],
  [{ root: 'redis: { url: "redis://h:1,i:x" }' }, 'redis.url', 'not an address'],
  [{ root: 'redis: { url: "redis://h:1,i:2" }' }, 'redis.url', 'names several servers'],
  [{ root: 'redis: { url: "redis://h:1,a@i:1" }' }, 'redis.url', 'must not contain a user name'],
  [{ root: 'redis: { url: "redis://h", sentinel: {} }' }, 'redis.sentinel.master', 'missing'],
  [{ root: 'redis: { url: redis://h, sentinel: { master: m }, cluster: true }' }, 'redis.cluster', 'left'],
  [{ root: 'redis: { url: "redis://h/2", cluster: true }' }, 'redis.url', 'only database 0'],
  [{ root: 'redis: { url: "redis://h", ssl: { serverName: h } }' }, 'redis.url', 'rediss://'],
  [{ root: 'redis: { url: "rediss://h", ssl: { cert: "-----BEGIN X-----" } }' }, 'redis.ssl.key', 'missing'],
  [{ root: 'redis: { url: "redis://h", keyPrefix: "{a" }' }, 'redis.keyPrefix', 'braces'],
  [{ root: 'pseudonymise: { key: short }' }, 'pseudonymise.key', '16'],
  [{ root: 'notify: { url: "https://me:pw@chat.example/x" }' }, 'notify.url', 'without a user name'],
  [{ root: 'notify: { url: chat.example, token: t }' }, 'notify.url', 'not an address'],
  [{ root: 'notify: { url: "http://chat.example", token: t }' }, 'notify.url', 'unencrypted'],
  [{ root: 'http: { port: 65536 }' }, 'http.port', 'at most 65535'],
  [{ tenant: 'afterschools: one' }, 'afterschools', 'must be a list'],
  [{ tenant: 'afterschools: [5]' }, 'afterschools[0]', 'in quotes'],
])('a wrong setting is refused with a hint: $1: $2', (parts, path, hint) => {
  const message = refusalOf(yamlWith(parts));
  for (const part of [/line \d+: /, path, hint]) expect(message).toMatch(part);
});

it.each([
  ['username: u', 'registry.password is missing'],
  ['bearerToken: t, username: u, password: p', 'registry.bearerToken is a second way to log in'],
  ['oauth: { clientId: c }', 'registry.oauth.tokenUrl is missing'],
  [`ssl: { cert: "${PEM}" }`, 'registry.ssl.key is missing'],
])('a log-in to the registry is refused if $1', (settings, expected) => {
  const message = refusalOf(yamlWith().replace('8081" }', `8081", ${settings} }`));
  expect(message).toContain(expected);
});

it.each([
  [
    'registry.bearerToken is a second way to log in',
    'url: "http://localhost:8081"',
    'username: u, password: p, bearerToken: "${X}"',
  ],
  ['notify.url must begin with https://', 'url: "http://chat.example"', 'token: "${X}"'],
])('what no variable can correct is refused offline: %s', (expected, url, keys) => {
  const yaml = yamlWith({ root: 'notify: { url: "http://chat.example" }' }).replace(url, `${url}, ${keys}`);
  expect(refusal(() => offline(yaml)).message).toContain(expected);
});

it('an encrypted key is refused without its passphrase, and with a wrong one', () => {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'right' },
  });
  const withPassphrase = (passphrase: string) =>
    yamlWith({ kafka: `ssl: { cert: "${PEM}", key: "\${file:/key}"${passphrase} }` });
  const options = { files: { '/key': privateKey } };
  expect(refusalOf(withPassphrase(''), options)).toContain('kafka.ssl.passphrase is missing');
  expect(refusalOf(withPassphrase(', passphrase: wrong'), options)).toContain('does not decrypt the key');
  const { ssl } = load(withPassphrase(', passphrase: right'), options).kafka;
  expect((ssl as Exclude<typeof ssl, boolean>).key?.reveal()).toBe(privateKey.trimEnd());
});

it.each([
  ['https://hub.example/north/', 'http://user:pw@hub.example', 'must not contain a user name'],
  ['https://hub.example/north/', 'https://hub.example/#', 'fragment'],
  ['https://hub.example/north/', 'ftp://hub.example', 'https:// or http://'],
  ['https://hub.example/north/', 'hub.example', 'not an address'],
  ['localhost:9092', 'kafka://localhost:9092', 'must be host:port'],
  ['localhost:9092', 'localhost:9092,other', 'must be host:port; several: [a:9092, b:9092]'],
])('an address in a configuration is refused if it is $1', (address, other, hint) => {
  const path = address === 'localhost:9092' ? 'kafka.brokers[0]' : 'tenants[0].hub.baseUrl';
  const message = refusalOf(yamlWith().replace(address, other));
  for (const part of [path, hint]) expect(message).toContain(part);
});

it('an entry of kafka.brokers may be a variable with several brokers, with commas between them', () => {
  const text = yamlWith().replace('"localhost:9092"', '"${BROKERS}", c:3');
  const { kafka } = load(text, { env: { HUB_SECRET: 's', BROKERS: 'a:1,b:2, b.example:3' } });
  expect(kafka.brokers).toEqual(['a:1', 'b:2', 'b.example:3', 'c:3']);
});

it('a variable in place of the list kafka.brokers is a mistake, whatever its value', () => {
  const text = yamlWith().replace('["localhost:9092"]', '"${BROKERS}"');
  expect(() => offline(text)).toThrow('kafka.brokers must be a list');
});

it.each([
  ['a quote that does not end', 'a: "b\nc', /line 2: .*a quote or a bracket is missing.*column 2/],
  ['a tab', 'a:\n\tb: 1', /line 2: .*a tab indents the line; use spaces.*column 1/],
  [
    'a colon in a value',
    'kafka:\n  password: a: b',
    /": ", which is allowed only in quotes.*\n    2 \|   password: …$/,
  ],
  ['a missing colon', 'kafka\n  brokers: [x]', /line 1: .*a colon and a space are missing after the key/],
  [
    'a key too far left of the next key, which is shown',
    'a:\n  b:\n    c: 1\n  d: 2\n    e: 3\n',
    /^\S+: line 4: .*indentation of this line or of the next one is wrong.*\n    4 \|   d: …$/,
  ],
  ['a wrong indentation', 'a:\n  b: 1\n c: 2', /line 3: .*not indented like its neighbours/],
  ['a key that occurs twice', 'a: 1\na: 2', /line 2: .*the same key is already in a line above/],
  ['a value with an @', 'a: @b', /line 1: .*is allowed only in quotes/],
  ['a backslash in quotes', 'a: "C:\\x"', /line 1: .*use single quotes/],
  ['a second document', 'a: 1\n---\nb: 2', /line 2: .*only one is read/],
  ['nothing', '', /is empty/],
  ['a list', '- a', /must be a map/],
  ['a very deep file', '['.repeat(20_000), /rollcall\.yaml/],
  ['a * without quotes', 'redis: { url: "redis://h", password: *pass }', /needs quotes/],
])('a mistake in YAML is refused with its line: %s', (_name, yaml, expected) => {
  expect(refusalOf(yaml)).toMatch(expected);
});

it('a configuration can be checked without its variables and files, and names each that it needs', () => {
  const parts = { hub: 'pageSize: ${SIZE}', kafka: 'ssl: { ca: "${file:/ca.pem}" }' };
  const needs = ['environment variable HUB_SECRET', 'environment variable SIZE', 'file /ca.pem'];
  const checked = offline(`${yamlWith(parts)}http: { port: "\${SIZE}" }`);
  expect(checked).toMatchObject({
    needs: needs.map((each) => `the ${each}`),
    value: { http: { port: '${SIZE}' } },
  });
  expect(refusal(() => offline(yamlWith({ ...parts, root: 'htpp: {}' }))).message).toMatch(
    /^rollcall.yaml: line 13: htpp is not/,
  );
  expect(() => offline(yamlWith({ hub: 'scope: "${a b}"' }))).toThrow('neither a variable');
});

it.each([
  ['ENOENT', 'There is no configuration at ./rollcall.yaml', 'rollcall init'],
  ['EACCES', 'The configuration ./rollcall.yaml cannot be read (EACCES)', 'may read'],
])('a configuration that cannot be read (%s) is refused with what to do', (code, message, remedy) => {
  const readFile = () => {
    throw Object.assign(new Error('not shown'), { code });
  };
  const error = refusal(() => loadConfig({ path: './rollcall.yaml', env: {}, readFile }));
  expect([error.message, error.remedy]).toEqual([message, expect.stringContaining(remedy)]);
});

it('any text in place of a configuration or a section is accepted, or refused by a known error', () => {
  const keys = 'tenants kafka hub id collections users redis url ssl partitions sasl drop ${A} __proto__';
  const texts = 'all 60s ${A} ${file:/x} $${ ${ https://h redis://:%zz@h *a !t 1e999 99999999999d';
  const scalar = fc.oneof(fc.constantFrom(...texts.split(' ')), fc.string(), fc.double(), fc.constant(null));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keys.split(' ')), tie('tree'), { maxKeys: 6 }),
    ),
  }));
  const unit = fc.constantFrom(...Array.from('ab:-?&*!|>%@`\'"{}[]#,$ \n\t\u0000\uD800'));
  const sections = 'collections schedules fullSync absences afterschools'.split(' ');
  const inSection = fc
    .tuple(fc.constantFrom(...sections), tree)
    .map(([section, value]) => yamlWith({ tenant: `${section}: ${JSON.stringify(value)}` }));
  const files = fc.oneof(tree.map(stringify), fc.string({ unit }), inSection);
  forMany(600, [files], (text) => {
    try {
      load(text, { env: { A: 'a', HUB_SECRET: 's' } });
    } catch (error) {
      expect(error).toBeInstanceOf(RollcallError);
    }
  });
});

const FILLED = {
  env: { HUB_SECRET: 's', A: 'one', B: 'two', NESTED: '${A}', MULTI: 'x: 1\n- y', EMPTY: '' },
  files: { '/lf': 'text\n', '/crlf': 'text\r\n', '/two': ' text\n\n' },
};

it.each([
  ['"${A}-${B}"', 'one-two'],
  ['"$${A}"', '${A}'],
  ['"a $ b } c"', 'a $ b } c'],
  ['"${EMPTY}"', ''],
  ['"${NESTED}"', '${A}'],
  ['${MULTI}', 'x: 1\n- y'],
  ['"${file:/lf}${file:/crlf}"', 'texttext'],
  ['"${file:/two}"', ' text\n'],
])('the value %s becomes %j, and is not filled in again or read as YAML', (written, expected) => {
  const [tenant] = load(yamlWith({ hub: `scope: ${written}` }), FILLED).tenants;
  expect(tenant?.hub.scope).toBe(expected);
});

it.each([
  ['"${constructor}"', 'environment variable constructor'],
  ['"${file:/nowhere}"', 'the file /nowhere, which cannot be read (ENOENT)'],
  ['"${file:}"', 'without a path'],
  ['"${A"', 'without "}"'],
  ['"${a b}"', "neither a variable's name"],
])('a value with the unusable placeholder %s is refused with its line', (written, expected) => {
  const message = refusalOf(yamlWith({ hub: `scope: ${written}` }));
  expect(message).toContain('line 8: tenants[0].hub.scope');
  expect(message).toContain(expected);
});

it('variables may hold numbers, durations and flags', () => {
  const root =
    'http: { port: "${PORT}" }\ndeletions: { confirmAfter: "${AFTER}", holdAbove: { ratio: "${R}" } }';
  const yaml = yamlWith({ root, kafka: 'ssl: "${TLS}"' });
  const config = load(yaml, { env: { HUB_SECRET: 's', PORT: '0', AFTER: '1m', R: '0.1', TLS: 'true' } });
  expect([config.http.port, config.kafka.ssl]).toEqual([0, true]);
  expect(config.deletions).toEqual({ confirmAfterMs: 60_000, holdAbove: { rows: 50, ratio: 0.1 } });
});

it('the variable of a credential may be unset for a verb that does not need it, but no other variable', () => {
  const loadWithout = (without: 'hub' | 'services', yaml: string) => load(yaml, { env: {}, without });
  expect(loadWithout('hub', yamlWith()).tenants[0]?.id).toBe('north');
  const kafka =
    'ssl: { ca: "${file:/ca}", cert: "${file:/cert}", key: "${file:/key}" }\nsasl: { mechanism: plain, username: u, password: "${KAFKA_SECRET}" }';
  const root = 'pseudonymise: { key: "${K}" }\nnotify: { url: "${NOTIFY_URL}", token: "${TOKEN}" }';
  const yaml = yamlWith({ kafka, root });
  const { message } = refusal(() => loadWithout('hub', yaml));
  expect(message).toContain('KAFKA_SECRET');
  expect(message).not.toContain('HUB_SECRET');
  expect(loadWithout('services', yaml).kafka.sasl?.mechanism).toBe('plain');
  const unnamed = yaml.replace('username: u', 'username: "${USER}"');
  expect(refusal(() => loadWithout('services', unnamed)).message).toBe(
    'rollcall.yaml: line 11: kafka.sasl.username needs the environment variable USER, which is not set',
  );
});

const SECRETS = { env: { HUB_SECRET: 'S3CRET-hub', OTHER: 'S3CRET-other' } };

it('no way to print the configuration shows a secret', () => {
  const kafka = 'sasl: { mechanism: plain, username: u, password: "${OTHER}" }';
  const config = load(yamlWith({ kafka, root: 'pseudonymise: { key: "S3CRET-0123456789" }' }), SECRETS);
  const { clientSecret } = config.tenants[0]?.hub ?? {};
  const shown = `${JSON.stringify(config)}${inspect(config, { depth: 20, showHidden: true })}${String(clientSecret)}`;
  expect(shown).not.toContain('S3CRET');
  expect(shown).toContain('[redacted]');
  expect(clientSecret?.reveal()).toBe('S3CRET-hub');
});

it.each([
  ['as an address', yamlWith().replace('https://hub.example/north/', '${OTHER}')],
  ['as a word of a few', yamlWith({ hub: 'clientAuth: "${OTHER}"' })],
  ['as a number', yamlWith({ root: 'http: { port: "${OTHER}" }' })],
  ['as a duration', yamlWith({ tenant: 'incrementalEvery: "${OTHER}"' })],
  ['as a collection', yamlWith({ tenant: 'collections: ["${OTHER}"]' })],
  ['as a broker', yamlWith().replace('localhost:9092', '${OTHER}')],
  ['as an address of Redis', yamlWith({ root: 'redis: { url: "redis://:S3CRET@h" }' })],
  ['as a short key', yamlWith({ root: 'pseudonymise: { key: S3CRET }' })],
  ['after a syntax error', `${yamlWith()}x: "S3CRET\n`],
  ['as an alias', yamlWith({ root: 'redis: { url: "redis://h", password: *S3CRET }' })],
  ['as a tag', yamlWith({ root: 'redis: { url: "redis://h", password: !S3CRET x }' })],
  ['with an escape', yamlWith({ root: 'redis: { url: "redis://h", password: "\\qS3CRET" }' })],
])('a refusal does not repeat a secret that stands %s', (_name, yaml) => {
  expect(refusalOf(yaml, SECRETS)).not.toContain('S3CRET');
});

it('a duration is digits and a unit, and never longer than a number can hold', () => {
  const all = ['0ms', '90s', '5m', '2h', '30d'].map(parseDurationMs);
  expect(all).toEqual([0, 90_000, 300_000, 7_200_000, 2_592_000_000]);
  const texts = '5|s|5 s|-5s|1.5h|5S|5min|1h30m|５s|600000000d|9999999999999999s| 5s|5s\n|'.split('|');
  for (const text of texts) expect([text, parseDurationMs(text)]).toEqual([text, null]);
});

const NO_ABSENCES = '{ absences: { enabled: false }, absence-changes: { enabled: false } }';

const without = (...names: string[]) => DEFAULT.filter((name) => !names.includes(name));
it.each([
  ['collections: all', DEFAULT],
  ['collections: [class-students, users]', ['users', 'class-students']],
  ['collections: { results: { incrementalEvery: 5m } }', DEFAULT],
  ['collections: { results: { enabled: false } }', without('results')],
  ['collections: { class-students: { enabled: true } }', [...DEFAULT, 'class-students']],
  ['collections: [afterschool-users]', []],
  ['afterschools: [a]', [...DEFAULT, 'afterschool-users']],
  // nobody names the students, and no setting asks for their lessons
  [`collections: ${NO_ABSENCES}`, without('absences', 'absence-changes', 'schedules')],
  ['collections: [schedules]\nschedules: { students: [a] }', ['schedules']],
  ['collections: { schedules: { drop: [teachers] } }', DEFAULT],
  ['collections: { absence-versions: { drop: [student] } }\nschedules: { students: [a] }', DEFAULT],
])('exactly the collections that the settings enable are mirrored (case %$)', (text, names) => {
  expect(namesOf(text).toSorted()).toEqual(names.toSorted());
});

it.each([
  ['[absences]', 'require absence-versions'],
  ['[absence-versions, absences]', 'require absence-changes'],
  ['{ absence-versions: { enabled: false } }', 'require absence-versions'],
  ['{ absences: { drop: [school] } }', 'set it for absence-versions'],
  ['{ class-students: { enabled: true, ignore: [students] } }', 'the values consist of ids'],
  ['[users, schedules]', 'schedules.students needs the collection absences'],
  [`${NO_ABSENCES}\nschedules: { daysBack: 1 }`, 'schedules.students needs the collection absences'],
  ['[schedules, absence-versions]\nschedules: { students: all }', 'students needs the collection students'],
  ['{ results: { drop: [sourcedId] } }', 'collections.results.drop[0]'],
  ['{ absence-versions: { drop: [replaces] } }', 'collections.absence-versions.drop[0]'],
  ['{ absence-versions: { drop: [student] } }', 'schedules of absent students need it'],
  ['{ schedules: { drop: [start] } }', 'collections.schedules.drop[0]'],
  ['{ schedules: { drop: [tid] } }\nschedules: { fields: { start: tid.fra } }', 'schedules.drop[0]'],
  ['all\nschedules: { fields: { start: tid..fra } }', 'schedules.fields.start'],
  ['{ users: { pseudonymise: [email] } }\nzebra: 1', 'pseudonymise needs pseudonymise.key, which is'],
  ['{ users: { pseudonymise: [email] } }\nzebra: 1', 'tenants[0].zebra'],
])('incomplete or useless settings of collections are refused: $1', (collections, why) => {
  expect(() => namesOf(`collections: ${collections}`)).toThrow(why);
});

it("a collection's own settings win over those of its tenant, which apply to the other collections", () => {
  const own =
    'incrementalEvery: 5m, drop: [replaces], ignore: [score], fullSync: { at: "02:30", timeZone: UTC }';
  const tenant = tenantWith(`incrementalEvery: 90s\ncollections: { results: { ${own} } }`);
  const none = { enabled: true, drop: [], pseudonymise: [], ignore: [] };
  const daily = { at: '04:00', timeZone: 'Europe/Oslo' };
  expect(tenant.collections.users).toEqual({ ...none, incrementalEveryMs: 90_000, fullSync: daily });
  expect(tenant.collections.results).toEqual({
    ...none,
    incrementalEveryMs: 300_000,
    fullSync: { at: '02:30', timeZone: 'UTC' },
    drop: ['replaces'],
    ignore: ['score'],
  });
});

it('`progress` always has one partition, and a topic that kafka.partitions does not name has three', () => {
  const partitions = (written: string, ...topics: Parameters<typeof partitionsOf>[1][]) =>
    topics.map((topic) => partitionsOf(load(yamlWith({ kafka: `partitions: ${written}` })).kafka, topic));
  expect(partitions('12', 'progress', 'users')).toEqual([1, 12]);
  expect(partitions('{ results: 6 }', 'results', 'rejects')).toEqual([6, 3]);
});

it('several servers in redis.url are no mistake while a variable says whether they are a Cluster', () => {
  const yaml = yamlWith({ root: 'redis: { url: "redis://a:6379,b:6379", cluster: "${C}" }' });
  const { needs } = offline(yaml);
  expect(needs).toContain('the environment variable C');
});

it('the mechanism of a log-in to Kafka may be written in upper case, as Kafka writes it', () => {
  const { sasl } = load(
    yamlWith({ kafka: 'sasl: { mechanism: SCRAM-SHA-512, username: u, password: p }' }),
  ).kafka;
  expect(sasl?.mechanism).toBe('scram-sha-512');
});

it('kafka.ssl.ca may hold all authorities of a system, up to 1 MiB', () => {
  const yaml = yamlWith({ kafka: 'ssl: { ca: "${file:/ca}" }' });
  const bundle = PEM.repeat(30_000);
  const { ssl } = load(yaml, { files: { '/ca': bundle } }).kafka;
  expect((ssl as Exclude<typeof ssl, boolean>).ca?.reveal()).toBe(bundle);
  expect(refusalOf(yaml, { files: { '/ca': PEM.repeat(40_000) } })).toContain('longer than 1048576');
});

it('each configuration in docs/estates.md is accepted', () => {
  const page = readFileSync(new URL('../../../docs/estates.md', import.meta.url), 'utf8');
  const [tenant] = yamlWith().split('kafka:');
  const all = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, yaml = '']) => `${tenant}${yaml}`);
  expect(all.length).toBeGreaterThan(4);
  for (const yaml of all) expect(loadFilled(yaml).tenants).toHaveLength(1);
});

it('examples/rollcall.yaml is accepted', () => {
  const text = readFileSync(new URL('../../../examples/rollcall.yaml', import.meta.url), 'utf8');
  const given = { KAFKA_CA: PEM, NOTIFY_URL: 'https://chat.example/hook?key=1' };
  const { tenants, kafka } = loadFilled(text, given);
  // without the slashes at its end
  expect(tenants.map(({ hub }) => hub.baseUrl.endsWith('/'))).toEqual([false]);
  expect((kafka.ssl as Exclude<typeof kafka.ssl, boolean>).ca?.reveal()).toBe(PEM);
});

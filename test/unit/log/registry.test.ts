import { expect, it, onTestFinished } from 'vitest';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import { frame } from './support/frame.ts';
import { createRegistryInspection } from '../../../src/log/registry/inspect-registry.ts';
import { Registry } from '../../../src/log/registry/registry.ts';
import { schemaOf } from '../core/support/rows.ts';
import { sendJson, serve } from '../hub/support/scripted-hub.ts';

const PROGRESS = schemaOf('progress');
const ORGS = schemaOf('orgs');

/** Starts a registry that can be made to lie. */
async function startRegistry() {
  const texts: string[] = [];
  const levels = new Set<string>();
  const requests: string[] = [];
  const trouble = {
    texts,
    wrongIdFor: '',
    underIds: new Map<number, string>(),
    lostIds: new Set<number>(),
    isReadOnly: false,
    schemaType: undefined as string | undefined,
    statuses: [] as number[],
    cutOff: 0,
  };
  const idOf = (body: string) => texts.indexOf((JSON.parse(body) as { schema: string }).schema) + 1;
  const answerTo = (method: string, path: string, body: string): [number, unknown] => {
    const [, kind, name = '', rest] = path.split('/');
    const isLookUp = method === 'POST' && kind === 'subjects' && rest === undefined;
    if (trouble.isReadOnly && method !== 'GET' && !isLookUp) return [422, { error_code: 42_205 }];
    if (isLookUp) return idOf(body) === 0 ? [404, {}] : [200, { id: idOf(body) }];
    if (kind === 'mode') return [200, { mode: trouble.isReadOnly ? 'READONLY' : 'READWRITE' }];
    if (kind === 'config' && method === 'PUT') levels.add(name);
    if (kind === 'config')
      return levels.has(name) ? [200, { compatibilityLevel: 'FULL_TRANSITIVE' }] : [404, {}];
    if (kind === 'subjects' && method === 'GET') return [200, []];
    if (kind === 'subjects') {
      if (idOf(body) === 0) texts.push((JSON.parse(body) as { schema: string }).schema);
      return [200, { id: idOf(body) + Number(name === trouble.wrongIdFor) }];
    }
    const id = Number(rest);
    const schema = trouble.lostIds.has(id) ? undefined : (trouble.underIds.get(id) ?? texts[id - 1]);
    return schema === undefined ? [404, {}] : [200, { schema, schemaType: trouble.schemaType }];
  };
  const server = await serve(({ method, url, body }, response) => {
    requests.push(`${method} ${url.pathname}`);
    const status = trouble.statuses.shift();
    const [known, answer] = answerTo(method, url.pathname, body);
    if (trouble.cutOff-- > 0)
      response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
    else sendJson(response, status === undefined ? answer : null, { status: status ?? known });
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const registry = new Registry({ url: server.origin });
  const register = (subject: string, schema: object = ORGS) =>
    registry.register(`p.${subject}-value`, schema as typeof ORGS);
  return { url: server.origin, registry, register, trouble, requests };
}

const OWNER = { collection: '@owner', owner: 'a process', ownedSince: 1 };
const nothing = Object.fromEntries(
  PROGRESS.fields.map(({ name }) => [name, name === 'offsets' ? {} : null] as const),
);
const BODY = createValueCodec<object>(PROGRESS).toBuffer({ ...nothing, ...OWNER });
const RECORD = frame(7, BODY);
const refused = { code: 'REGISTRY_REFUSED' };
const says = (text: string): string => expect.stringContaining(text) as string;

it('registering many subjects of one schema costs two requests for each, and one more', async () => {
  const { registry, register, requests } = await startRegistry();
  const subjects = Array.from({ length: 10 }, (_, tenant) => `t${tenant}.orgs`);
  for (const subject of subjects) expect(await register(subject)).toBe(1);
  // A level before the schema, so that the registry compares it.
  const first = [
    'GET /config/p.t0.orgs-value',
    'PUT /config/p.t0.orgs-value',
    'POST /subjects/p.t0.orgs-value/versions',
  ];
  expect(requests.splice(0).slice(0, 3)).toEqual(first);
  for (const subject of subjects) expect(await register(subject)).toBe(1);
  expect(requests.splice(0)).toEqual(
    subjects.flatMap((each) => [`GET /config/p.${each}-value`, `POST /subjects/p.${each}-value/versions`]),
  );
  await registry.ping();
  expect(requests).toEqual(['GET /subjects', 'GET /schemas/ids/1']);
});

it('registering a schema takes an id that the registry once did not know, or gave another schema', async () => {
  const { registry, register, trouble } = await startRegistry();
  trouble.underIds.set(2, JSON.stringify(PROGRESS));
  for (const id of [1, 2]) await registry.decode(frame(id, BODY)).catch(() => undefined);
  trouble.underIds.clear();
  expect([await register('orgs'), await register('users', PROGRESS)]).toEqual([1, 2]);
});

it('registering a schema is refused while the registry returns the id of another schema or of none', async () => {
  const { register, trouble } = await startRegistry();
  trouble.wrongIdFor = 'p.t.orgs-value';
  await expect(register('t.orgs')).rejects.toMatchObject(refused);
  await register('t.progress', PROGRESS);
  const message = says('returned id 2 for the schema of p.t.orgs-value');
  await expect(register('t.orgs')).rejects.toMatchObject({ ...refused, message });
  trouble.wrongIdFor = '';
  expect(await register('t.orgs')).toBe(1);
});

it.each([
  ['a transient failure', { statuses: [503, 500] }, { statuses: [503, 503, 503] }, 'answer'],
  ['an answer that is cut off', { cutOff: 2 }, { cutOff: 3 }, 'is unreachable'],
])('registering a schema is tried a few times after %s, then fails', async (_, passing, lasting, message) => {
  const { register, trouble } = await startRegistry();
  Object.assign(trouble, passing);
  expect(await register('t.orgs')).toBe(1);
  Object.assign(trouble, lasting);
  await expect(register('t.orgs')).rejects.toMatchObject({
    code: 'REGISTRY_UNREACHABLE',
    message: says(message),
  });
});

it('a read-only registry gives the id of a known schema, and is named if a schema is not known', async () => {
  const { registry, register, trouble, url } = await startRegistry();
  await register('t.orgs');
  const inspection = createRegistryInspection({ url });
  const problems = async (name: string, schema: object) =>
    (await inspection.subject(`p.${name}-value`, schema, new AbortController().signal)).problems;
  trouble.isReadOnly = true;
  expect(await register('t.orgs')).toBe(1);
  expect(await problems('t.orgs', ORGS)).toEqual([]);
  const readOnly = { ...refused, message: says('registry is read-only') };
  await expect(register('t.progress', PROGRESS)).rejects.toMatchObject(readOnly);
  await expect(registry.removeSubject('p.t.orgs-value')).rejects.toMatchObject(readOnly);
  // A schema, a schema and a level, and a level alone would have to be written.
  for (const [name, schema] of [
    ['t.orgs', PROGRESS],
    ['t.progress', PROGRESS],
    ['other.orgs', ORGS],
  ] as const)
    expect(await problems(name, schema)).toMatchObject([
      { ...refused, remedy: expect.stringMatching(/set it to READWRITE/) },
    ]);
  trouble.isReadOnly = false;
  expect(await problems('t.progress', PROGRESS)).toEqual([]);
});

it.each([
  ['no schema', { lostIds: new Set([1]) }],
  ['another schema', { underIds: new Map([[1, JSON.stringify(PROGRESS)]]) }],
])('a schema in use whose id has %s is reported as lost until it is registered again', async (_, loss) => {
  const { registry, register, trouble } = await startRegistry();
  await register('t.orgs');
  await register('t.progress', PROGRESS);
  await registry.ping();
  Object.assign(trouble, loss);
  const message = expect.stringMatching(/the schema of p\.t\.orgs-value$/) as string;
  await expect(registry.ping()).rejects.toMatchObject({ code: 'SCHEMA_LOST', message });
  expect(['p.t.orgs-value', 'p.t.progress-value'].map((each) => registry.isLost(each))).toEqual([
    true,
    false,
  ]);
  Object.assign(trouble, { lostIds: new Set(), underIds: new Map() });
  expect(await register('t.orgs')).toBe(1);
  expect(registry.isLost('p.t.orgs-value')).toBe(false);
  await registry.ping();
});

it('a registry that assigns ids in another order is reported for each tenant until it registers again', async () => {
  const { registry, register, trouble } = await startRegistry();
  for (const tenant of ['first', 'second']) {
    await register(`${tenant}.orgs`);
    await register(`${tenant}.progress`, PROGRESS);
  }
  trouble.texts.splice(0);
  await expect(registry.ping()).rejects.toMatchObject({ code: 'SCHEMA_LOST' });
  expect([await register('first.progress', PROGRESS), await register('first.orgs')]).toEqual([1, 2]);
  const message = expect.stringMatching(/the schema of p\.second\.orgs-value and of 1 more$/) as string;
  await expect(registry.ping()).rejects.toMatchObject({ code: 'SCHEMA_LOST', message });
  expect([await register('second.progress', PROGRESS), await register('second.orgs')]).toEqual([1, 2]);
  await registry.ping();
});

it.each([
  ['of another schema', JSON.stringify(ORGS), undefined],
  ['that the registry does not know', undefined, undefined],
  ['of no schema', 'no JSON', undefined],
  ['of a schema that is not Avro', JSON.stringify(PROGRESS), 'JSON'],
])('a record under an id %s is decoded with the schema of its topic', async (_, under, schemaType) => {
  const { registry, requests, trouble } = await startRegistry();
  if (under !== undefined) trouble.underIds.set(7, under);
  trouble.schemaType = schemaType;
  await expect(registry.decode(RECORD)).rejects.toMatchObject({
    ...refused,
    message: says(schemaType === undefined ? 'schema' : 'has no Avro schema with the id'),
  });
  for (let record = 0; record < 5; record += 1)
    expect(await registry.decode(RECORD, ['progress'])).toMatchObject(OWNER);
  expect(requests).toEqual(['GET /schemas/ids/7']);
});

it('a record that cannot be decoded by its schema id or its topic is refused without its content', async () => {
  const { registry } = await startRegistry();
  const failure = await registry.decode(frame(7, Buffer.from('Kari Nordmann')), ['progress']).catch(String);
  expect(failure).toContain('has no Avro schema with the id');
  expect(failure).not.toContain('Kari');
});

it('a record is decoded with a schema that is unknown here, but that extends a known schema', async () => {
  const { registry, register, trouble } = await startRegistry();
  await register('absence-versions', schemaOf('absence-versions'));
  const changes = schemaOf('absence-changes');
  const fields = [...changes.fields, { name: 'later', type: ['null', 'string'], default: null }];
  trouble.underIds.set(7, JSON.stringify({ ...changes, fields }));
  expect(await registry.knows(7, 'absence-changes')).toBe(true);
});

it('a record whose schema did not fit is decoded with the schema that the registry has after a ping', async () => {
  const { registry, trouble } = await startRegistry();
  trouble.underIds.set(7, JSON.stringify(ORGS));
  await expect(registry.decode(RECORD)).rejects.toMatchObject(refused);
  trouble.underIds.set(7, JSON.stringify(PROGRESS));
  await registry.ping();
  expect(await registry.decode(RECORD)).toMatchObject(OWNER);
});

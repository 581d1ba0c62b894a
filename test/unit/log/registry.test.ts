import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { frame } from '../../../src/log/framing.ts';
import { createRegistryInspection } from '../../../src/log/inspect-registry.ts';
import { Registry } from '../../../src/log/registry.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import { sendJson, serve, type ScriptedServer } from '../hub/support/scripted-hub.ts';

const SCHEMAS = readSchemaFiles();
const PROGRESS = schemaOf('progress');
const ORGS = schemaOf('orgs');
const ASK_AGAIN_AFTER_MS = 30_001;

const open: ScriptedServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server[Symbol.asyncDispose]();
});

function schemaOf(name: 'progress' | 'orgs') {
  const file = SCHEMAS.get(name);
  if (file === undefined) throw new Error(name);
  return file.schema;
}

/** Starts a registry that can be made to lie. */
async function startRegistry() {
  const texts: string[] = [];
  const levels = new Set<string>();
  const requests: string[] = [];
  const trouble = {
    wrongIdFor: '',
    underIds: new Map<number, string>(),
    lostIds: new Set<number>(),
    isReadOnly: false,
    schemaType: undefined as string | undefined,
    statuses: [] as number[],
    cutOff: 0,
  };
  let underWay = 0;
  let most = 0;
  const answerTo = (method: string, path: string, body: string): [number, unknown] => {
    const [, kind, name = '', rest] = path.split('/');
    const isLookUp = method === 'POST' && kind === 'subjects' && rest === undefined;
    if (trouble.isReadOnly && method !== 'GET' && !isLookUp) return [422, { error_code: 42_205 }];
    if (isLookUp) {
      const known = texts.indexOf((JSON.parse(body) as { schema: string }).schema) + 1;
      return known === 0 ? [404, {}] : [200, { id: known }];
    }
    if (kind === 'mode') return [200, { mode: trouble.isReadOnly ? 'READONLY' : 'READWRITE' }];
    if (kind === 'config' && method === 'PUT') levels.add(name);
    if (kind === 'config')
      return levels.has(name) ? [200, { compatibilityLevel: 'FULL_TRANSITIVE' }] : [404, {}];
    if (kind === 'subjects' && method === 'GET') return [200, []];
    if (kind === 'subjects') {
      const { schema } = JSON.parse(body) as { schema: string };
      if (!texts.includes(schema)) texts.push(schema);
      const id = texts.indexOf(schema) + 1;
      return [200, { id: name === trouble.wrongIdFor ? id + 1 : id }];
    }
    const id = Number(rest);
    const schema = trouble.lostIds.has(id) ? undefined : (trouble.underIds.get(id) ?? texts[id - 1]);
    return schema === undefined ? [404, {}] : [200, { schema, schemaType: trouble.schemaType }];
  };
  const server = await serve(async ({ method, url, body }, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    requests.push(`${method} ${url.pathname}`);
    const status = trouble.statuses.shift();
    const [known, answer] = answerTo(method, url.pathname, body);
    await nextTurn();
    underWay -= 1;
    if (trouble.cutOff > 0) {
      trouble.cutOff -= 1;
      response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
    } else sendJson(response, status === undefined ? answer : null, { status: status ?? known });
  });
  open.push(server);
  const clock = { nowMs: 0 };
  return {
    url: server.origin,
    registry: new Registry({ url: server.origin }, () => clock.nowMs),
    clock,
    trouble,
    requests,
    mostAtOnce: () => most,
  };
}

const OWNER = { collection: '@owner', owner: 'a process', ownedSince: 1 };
const nothing = Object.fromEntries(
  PROGRESS.fields.map(({ name }) => [name, name === 'offsets' ? {} : null] as const),
);
const BODY = createValueCodec<object>(PROGRESS).toBuffer({ ...nothing, ...OWNER });

describe('registering', () => {
  it('many subjects of one schema cost two requests each, and the schema of their id is requested once', async () => {
    const { registry, requests } = await startRegistry();
    const subjects = Array.from({ length: 10 }, (_, tenant) => `p.t${tenant}.orgs-value`);
    for (const subject of subjects) expect(await registry.register(subject, ORGS)).toBe(1);
    requests.length = 0;
    for (const subject of subjects) expect(await registry.register(subject, ORGS)).toBe(1);
    expect(requests).toEqual(
      subjects.flatMap((each) => [`GET /config/${each}`, `POST /subjects/${each}/versions`]),
    );
  });

  it('a subject without a level gets it before its schema, so that the registry compares the schema', async () => {
    const { registry, requests } = await startRegistry();
    await registry.register('p.t.orgs-value', ORGS);
    expect(requests.slice(0, 3)).toEqual([
      'GET /config/p.t.orgs-value',
      'PUT /config/p.t.orgs-value',
      'POST /subjects/p.t.orgs-value/versions',
    ]);
  });

  it('any number of concurrent subjects uses a few connections', async () => {
    const { registry, mostAtOnce } = await startRegistry();
    await Promise.all(
      Array.from({ length: 60 }, (_, tenant) => registry.register(`p.t${tenant}.orgs-value`, ORGS)),
    );
    expect(mostAtOnce()).toBeLessThanOrEqual(8);
  });

  it('an id under which the registry holds another schema is refused until the registry is correct again', async () => {
    const { registry, trouble } = await startRegistry();
    await registry.register('p.t.orgs-value', ORGS);
    await registry.register('p.t.progress-value', PROGRESS);
    trouble.wrongIdFor = 'p.u.orgs-value';
    await expect(registry.register('p.u.orgs-value', ORGS)).rejects.toMatchObject({
      code: 'REGISTRY_REFUSED',
      message: expect.stringContaining('returned id 2 for the schema of p.u.orgs-value'),
    });
    trouble.wrongIdFor = '';
    expect(await registry.register('p.u.orgs-value', ORGS)).toBe(1);
  });

  it('an id under which the registry holds nothing is refused, even right after the registration', async () => {
    const { registry, trouble } = await startRegistry();
    trouble.wrongIdFor = 'p.t.orgs-value';
    await expect(registry.register('p.t.orgs-value', ORGS)).rejects.toMatchObject({
      code: 'REGISTRY_REFUSED',
    });
  });

  it.each([
    ['a transient failure', { statuses: [503, 500] }, { statuses: [503, 503, 503] }, 'answer'],
    ['an answer that is cut off', { cutOff: 2 }, { cutOff: 3 }, 'is unreachable'],
  ])(
    'a registry with %s is asked again, and is unreachable in the end',
    async (_, passing, lasting, message) => {
      const { registry, trouble } = await startRegistry();
      Object.assign(trouble, passing);
      expect(await registry.register('p.t.orgs-value', ORGS)).toBe(1);
      Object.assign(trouble, lasting);
      await expect(registry.register('p.t.orgs-value', ORGS)).rejects.toMatchObject({
        code: 'REGISTRY_UNREACHABLE',
        message: expect.stringContaining(message) as string,
      });
    },
  );
});

describe('a read-only registry', () => {
  it('gives the id of a schema that the subject has, and is named where one must be registered', async () => {
    const { registry, trouble } = await startRegistry();
    await registry.register('p.t.orgs-value', ORGS);
    trouble.isReadOnly = true;
    expect(await registry.register('p.t.orgs-value', ORGS)).toBe(1);
    const refused = { code: 'REGISTRY_REFUSED', message: expect.stringContaining('registry is read-only') };
    await expect(registry.register('p.t.progress-value', PROGRESS)).rejects.toMatchObject(refused);
    await expect(registry.removeSubject('p.t.orgs-value')).rejects.toMatchObject(refused);
  });

  it('is a finding of an inspection only where a schema must be registered', async () => {
    const { registry, trouble, url } = await startRegistry();
    await registry.register('p.t.orgs-value', ORGS);
    const inspection = createRegistryInspection({ url });
    const problems = async (name: string, schema: object) =>
      (await inspection.subject(name, schema, new AbortController().signal)).problems;
    trouble.isReadOnly = true;
    expect(await problems('p.t.orgs-value', ORGS)).toEqual([]);
    // A schema, a schema and a level, and a level alone would have to be written.
    for (const [name, schema] of [
      ['p.t.orgs-value', PROGRESS],
      ['p.t.progress-value', PROGRESS],
      ['p.other.orgs-value', ORGS],
    ] as const)
      expect(await problems(name, schema)).toMatchObject([
        { code: 'REGISTRY_REFUSED', remedy: expect.stringMatching(/^Set the mode that GET/) },
      ]);
    trouble.isReadOnly = false;
    expect(await problems('p.t.progress-value', PROGRESS)).toEqual([]);
  });
});

describe('asking whether the schemas in use are there', () => {
  it.each([
    ['none', { lostIds: new Set([1]) }],
    ['another', { underIds: new Map([[1, JSON.stringify(PROGRESS)]]) }],
  ])('an id that has %s is lost by name until it is registered again', async (_, loss) => {
    const { registry, trouble } = await startRegistry();
    await registry.register('p.t.orgs-value', ORGS);
    await registry.register('p.t.progress-value', PROGRESS);
    await registry.ping();
    Object.assign(trouble, loss);
    const lost = { code: 'SCHEMA_LOST', message: expect.stringMatching(/the schema of p\.t\.orgs-value$/) };
    await expect(registry.ping()).rejects.toMatchObject(lost);
    expect([registry.isLost(1), registry.isLost(2)]).toEqual([true, false]);
    Object.assign(trouble, { lostIds: new Set(), underIds: new Map() });
    expect(await registry.register('p.t.orgs-value', ORGS)).toBe(1);
    expect(registry.isLost(1)).toBe(false);
    await registry.ping();
  });

  it('costs one request for each id, however many subjects have it', async () => {
    const { registry, requests } = await startRegistry();
    for (let tenant = 0; tenant < 10; tenant += 1) await registry.register(`p.t${tenant}.orgs-value`, ORGS);
    requests.length = 0;
    await registry.ping();
    expect(requests).toEqual(['GET /subjects', 'GET /schemas/ids/1']);
  });
});

describe('decoding', () => {
  it.each([
    ['belongs to another schema', (id: number) => new Map([[id, JSON.stringify(ORGS)]])],
    ['the registry does not know', () => new Map()],
    ['belongs to no schema', (id: number) => new Map([[id, 'no JSON']])],
  ])(
    'decodes a record under an id that %s with the schema of its topic, at the cost of one request',
    async (_, under) => {
      const { registry, requests, trouble } = await startRegistry();
      trouble.underIds = under(7);
      for (let record = 0; record < 5; record += 1) {
        expect(await registry.decode(frame(7, BODY), ['progress'])).toMatchObject(OWNER);
      }
      expect(requests).toEqual(['GET /schemas/ids/7']);
    },
  );

  it.each(['JSON', 'PROTOBUF', 'ANOTHER'])(
    'takes a schema of type %s under an id for none, and for no failure of the registry',
    async (schemaType) => {
      const { registry, trouble } = await startRegistry();
      trouble.underIds = new Map([[7, JSON.stringify(PROGRESS)]]);
      trouble.schemaType = schemaType;
      const refusal = { message: expect.stringContaining('has no Avro schema with the id') as string };
      await expect(registry.decode(frame(7, BODY))).rejects.toMatchObject(refusal);
      expect(await registry.decode(frame(7, BODY), ['progress'])).toMatchObject(OWNER);
    },
  );

  it('refuses a record that neither its id nor its topic can decode, without its content', async () => {
    const { registry } = await startRegistry();
    const failure = await registry.decode(frame(7, Buffer.from('Kari Nordmann')), ['progress']).catch(String);
    expect(failure).toContain('has no Avro schema with the id');
    expect(failure).not.toContain('Kari');
  });

  it('requests a schema again later that did not fit', async () => {
    const { registry, clock, trouble } = await startRegistry();
    trouble.underIds = new Map([[7, JSON.stringify(ORGS)]]);
    await expect(registry.decode(frame(7, BODY))).rejects.toMatchObject({ code: 'REGISTRY_REFUSED' });
    trouble.underIds = new Map([[7, JSON.stringify(PROGRESS)]]);
    clock.nowMs = ASK_AGAIN_AFTER_MS;
    await expect(registry.decode(frame(7, BODY))).rejects.toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect(await registry.decode(frame(7, BODY))).toMatchObject(OWNER);
  });
});

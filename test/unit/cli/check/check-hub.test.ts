import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkHub } from '../../../../src/cli/check/check-hub.ts';
import { failureOf, findingsOf, type Finding } from '../../../../src/cli/check/finding.ts';
import { modelHub, type Behaviour } from '../../hub/support/model-hub.ts';
import { answer, inTurn, sendJson, serve, type Script } from '../../hub/support/scripted-hub.ts';
import { COLLECTIONS } from '../../../../src/model/collections.ts';
import { load, yamlWith } from '../../config/config-text.ts';

/** Checks a hub that answers for users by this script, and for others by another one. */
async function check(
  script: Script,
  options: { tenant?: string; hub?: string | undefined; root?: string; others?: Script } = {},
): Promise<{ findings: Finding[]; levels: string[]; asked: URL[]; users: Finding | undefined }> {
  const { tenant: text = 'collections: [users]', hub: settings, root = '', others = script } = options;
  await using server = await serve((request, response) => {
    if (request.path === '/token')
      return sendJson(response, { access_token: 't', token_type: 'Bearer', expires_in: 3600 });
    return (request.path.endsWith('/users') ? script : others)(request, response);
  });
  const [tenant] = load(
    yamlWith({ tenant: text, root, ...(settings === undefined ? {} : { hub: settings }) })
      .replace('https://hub.example/north/', `${server.origin}/`)
      .replace('https://id.example/token', `${server.origin}/token`),
  ).tenants;
  if (tenant === undefined) throw new Error('no tenant');
  const findings = () => checkHub(tenant, new AbortController().signal);
  const found = await findingsOf({ title: '', findings });
  return {
    findings: found,
    levels: found.map(({ subject, level }) => `${subject} ${level}`),
    asked: server.asked.map(({ url }) => url),
    users: found.find(({ subject }) => subject === 'users'),
  };
}

const STANDARD: Behaviour = {
  ids: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
  cursor: 'honours',
  idFilter: 'honours',
  links: 'none',
  total: 'right',
  natural: ['g', 'c', 'a', 'b', 'f', 'd', 'e'],
};
const model = (behaviour: Partial<Behaviour> = {}): Script => modelHub({ ...STANDARD, ...behaviour });

/** Lists rows by `afterSourcedId`, in one page. */
const list = (users: readonly object[], headers: Record<string, string> = {}): Script => {
  return ({ query }, response) => {
    const after = query.get('afterSourcedId') ?? '';
    const rest = users.filter((row) => String((row as { sourcedId?: unknown }).sourcedId) > after);
    sendJson(response, { users: rest }, { headers: { link: '<x>; rel="first"', ...headers } });
  };
};
/** Gives the same page whatever it is asked for. */
const always = (ids: readonly unknown[], total: number): Script =>
  answer(200, { users: ids.map((sourcedId) => ({ sourcedId })) }, { 'x-total-count': String(total) });
const noCursor = model({ cursor: 'ignores' });
const refused = answer(403, {}, { 'retry-after': '1' });

const STAMPED = [
  { sourcedId: 'a', dateLastModified: '2026-03-04T08:00:00.000Z' },
  { sourcedId: 'b', dateLastModified: '2026-03-05T08:00:00+01:00' },
  { sourcedId: 'c', dateLastModified: '2026-03-04T09:00:00.000Z' },
];
const modifiedAfter = (afterMs: number): object[] =>
  STAMPED.filter(({ dateLastModified }) => Date.parse(dateLastModified) > afterMs);
const anHourLate = (ms: number) => modifiedAfter(ms + 3_600_000);
/** `selects`: the rows that a filter by this time selects; it may answer otherwise instead. */
function filtering(selects: (afterMs: number) => readonly object[] | Script): Script {
  return (request, response) => {
    const filter = /^dateLastModified>'(.+)'$/.exec(request.query.get('filter') ?? '');
    const selected = filter === null ? STAMPED : selects(Date.parse(filter[1] ?? ''));
    return (typeof selected === 'function' ? selected : list(selected))(request, response);
  };
}
const elsewhere: Script = ({ query }, response) =>
  sendJson(response, { users: [{ sourcedId: `${query.get('afterSourcedId') ?? ''}x` }] });
const MISSED = /does not return a listed row/;

describe('check of a collection', () => {
  it.each([
    ['honours', 'honours', /^7 rows; paged by keyset$/],
    ['ignores', 'honours', /^7 rows; paged by sourced-id-filter, not by afterSourcedId: /],
    ['refuses', 'refuses', /^7 rows; paged by offset, not by afterSourcedId: /],
    ['ignores', 'ignores-sort', /^7 rows; paged by offset, not by afterSourcedId: /],
  ] as const)(
    'says by few requests how a sync pages: cursor %s, filter %s',
    async (cursor, idFilter, text) => {
      const { users, asked } = await check(model({ cursor, idFilter }), { hub: 'pageSize: 2' });
      expect(users).toMatchObject({ level: 'ok', text: expect.stringMatching(text) as string });
      expect(asked.length).toBeLessThan(16);
    },
  );

  it.each<[what: string, script: Script, level: string, text: RegExp, hub?: string]>([
    ['that cannot be paged as prescribed', noCursor, 'failure', /keyset/, 'paging: keyset\npageSize: 2'],
    ['that is paged as prescribed', noCursor, 'ok', /; paged by offset$/, 'paging: offset\npageSize: 2'],
    ['that one page holds', always(['a', 'b', 'c'], 3), 'ok', /^3 rows$/],
    ['of a single row', model({ ids: ['a'] }), 'ok', /^1 row$/],
    ['whose total is 0 beside a row', list([{ sourcedId: 'a' }], { 'x-total-count': '0' }), 'ok', /^1 row$/],
    ['of fewer rows than the hub counts', list(STAMPED, { 'x-total-count': '9' }), 'failure', /^3 of 9 rows/],
    ['answered without a list', answer(200), 'failure', /^a response had no list$/],
    ['without rows', answer(204), 'ok', /^no rows$/],
    ['whose ids are no text', always([1], 1), 'failure', /have no readable sourcedId/],
    ['answered after a 403 with Retry-After', inTurn(refused, list([{ sourcedId: 'a' }])), 'ok', /./],
    ['whose filter by date selects nothing', filtering(() => []), 'warning', MISSED],
    ['whose filter takes UTC for its own zone', filtering(anHourLate), 'warning', MISSED],
    ['whose filter by date is refused', filtering(() => answer(400)), 'ok', /^3 rows/],
    ['whose filtered row may be on a later page', filtering(() => elsewhere), 'ok', /^3 rows/],
    ['of which no listed row has a time', list([{ sourcedId: 'a' }]), 'ok', /^1 row$/],
  ])('%s', async (_, script, level, text, hub) => {
    const { users } = await check(script, { hub });
    expect(users).toMatchObject({ level, text: expect.stringMatching(text) as string });
    if (users?.text.startsWith('3 of 9')) expect(users.remedy).toContain('hub.totals: ignored');
  });

  it('asks by date for the row that was modified last, by a time just before that', async () => {
    const asked = new Set<number>();
    const script = filtering((afterMs) => {
      asked.add(afterMs);
      return modifiedAfter(afterMs);
    });
    expect((await check(script)).users?.level).toBe('ok');
    expect(asked).toEqual(new Set([Date.parse('2026-03-05T06:59:59Z')]));
  });

  it('that fails hides no other one, and one cause of all is one finding', async () => {
    const tenant =
      'collections: [users, orgs, classes, class-students, students, schedules]\nschedules: { students: all }';
    const one = await check(list([{ sourcedId: 'a' }]), { tenant, others: answer(404) });
    expect(one.levels).toEqual(
      expect.arrayContaining(['token ok', 'orgs warning', 'users ok', 'class-students warning']),
    );
    for (const [code, remedy] of [
      [404, 'hub.baseUrl'],
      [403, 'hub.tokenUrl and hub.baseUrl belong to the same environment'],
    ] as const) {
      const { levels, findings, asked } = await check(answer(code), { tenant });
      expect(levels).toEqual(['token ok', 'collections failure']);
      expect(findings[1]?.remedy).toContain(remedy);
      expect(asked.filter(({ href }) => href.includes('schedules'))).toEqual([]);
    }
    const empty = await check(answer(204), { tenant: 'collections: [users, orgs]' });
    const warned = expect.objectContaining({
      level: 'warning',
      remedy: expect.stringContaining('hub.scope') as string,
    });
    expect(empty.findings.find(({ subject }) => subject === 'collections')).toEqual(warned);
  });
});

describe('check of settings', () => {
  const PERSON = list([{ sourcedId: 'a', email: 'x', shoeSize: 41 }]);

  it.each([
    ['drop: [emial]', ['users ok', 'users failure'], /emial; did you mean email\?$/],
    ['pseudonymise: [emial]', ['users ok', 'users failure'], /emial; did you mean email\?$/],
    ['ignore: [emial], drop: [emial]', ['users ok', 'users failure'], /^drop: no row has the field emial/],
    ['ignore: [shoesize]', ['users ok', 'users warning'], /^ignore: no row has the field shoesize$/],
    ['drop: [email, shoeSize]', ['users ok'], /^1 row$/],
  ])(
    'a field that no row has is a failure where it would be kept back, else a warning: %s',
    async (settings, levels, text) => {
      const others = Object.fromEntries(COLLECTIONS.map((name) => [name, { enabled: name === 'users' }]));
      const collections = { ...others, users: parse(`{ ${settings} }`) as object };
      const found = await check(PERSON, {
        tenant: `collections: ${JSON.stringify(collections)}`,
        root: 'pseudonymise: { key: "a key of sixteen characters" }',
      });
      expect([found.levels.slice(1), found.findings.at(-1)?.text]).toEqual([
        levels,
        expect.stringMatching(text),
      ]);
    },
  );

  it('warns of each afterschool that the hub does not know, and blames no address for it', async () => {
    const script: Script = (request, response) =>
      (request.path.includes('/sfo-1/') ? PERSON : answer(404))(request, response);
    const only = (ids: string) =>
      check(script, { tenant: `collections: [afterschool-users]\nafterschools: ${ids}` });
    const some = await only('[sfo-2, sfo-1]');
    expect(some.levels).toEqual(['token ok', 'afterschool-users ok', 'afterschool-users warning']);
    const none = await only('[sfo-2]');
    for (const { findings } of [some, none])
      expect(findings.at(-1)).toMatchObject({
        text: 'afterschools: the hub does not know sfo-2',
        remedy: expect.not.stringContaining('hub.baseUrl') as string,
      });
  });
});

describe('check of schedules', () => {
  const LESSON = { id: 'l', start: '2026-11-20T08:15', end: '2026-11-20T09:00', class: 'k' };
  const WHOLE = { ...LESSON, title: 'Norsk', teachers: ['t'], rooms: ['R'], cancelled: false };
  const IN_NORWEGIAN = [{ begynner: '2026-11-20T08:15', slutt: '2026-11-20T09:00', gruppe: 'k' }];
  async function lessonsOf(
    lessons: readonly unknown[] | number,
    settings = 'students: all',
    students: readonly string[] = ['s1'],
  ) {
    const { findings, asked } = await check(list([{ sourcedId: 'a' }]), {
      tenant: `collections: [users, students, schedules]\nschedules: { ${settings} }`,
      others: (request, response) => {
        if (request.path.endsWith('/students'))
          return sendJson(response, { users: students.map((sourcedId) => ({ sourcedId })) });
        return typeof lessons === 'number' ? answer(lessons)(request, response) : sendJson(response, lessons);
      },
    });
    const finding = findings.find(({ subject }) => subject === 'schedules');
    return { finding, asked: asked.filter(({ href }) => href.includes('schedules')).map(({ href }) => href) };
  }

  it('asks for one student: the first one, or the first that the configuration names', async () => {
    expect((await lessonsOf([LESSON])).asked).toEqual([expect.stringContaining('s1')]);
    expect((await lessonsOf([LESSON], 'students: [x, y]')).asked).toEqual([expect.stringMatching(/\bx\b/)]);
    const none = await lessonsOf([LESSON], 'students: all', []);
    expect(none).toMatchObject({ asked: [], finding: { level: 'warning' } });
  });

  it.each([
    [404, 'warning', /./],
    [403, 'failure', /./],
    [[], 'ok', /^answers; no lessons of the tested student in these days$/],
    [[WHOLE], 'ok', /^1 lesson of the tested student, with the fields .*, title$/],
    [
      [LESSON, LESSON],
      'ok',
      /^2 lessons .* fields class, end, id, start; none has: title, teachers, rooms, cancelled$/,
    ],
    [[{ ...LESSON, class: { id: 'k' } }], 'warning', /fields class, end, id, start; none has: class, title/],
    [
      [LESSON, { begynner: '2026-11-20T08:15' }],
      'failure',
      /with the fields begynner, class, end, id, start; .*; `start` of a lesson is missing$/,
    ],
    [
      [{ begynner: '2026-11-20T08:15', elev: 'Kari' }],
      'failure',
      /^Cannot read the lessons of a student: no lesson has the field `start`. Its fields: begynner, elev$/,
    ],
    [IN_NORWEGIAN, 'ok', /./, 'students: all, fields: { start: begynner, class: gruppe, end: slutt }'],
  ])('reports %j as %s, with the names of the fields', async (lessons, level, text, settings?: string) => {
    const { finding } = await lessonsOf(lessons, settings);
    expect(finding).toMatchObject({ level, text: expect.stringMatching(text) as string });
    if (level !== 'ok' && typeof lessons !== 'number') expect(finding?.remedy).toContain('schedules.fields');
    expect(JSON.stringify(finding)).not.toContain('Kari');
  });
});

it('a finding about an unknown error quotes no data', () => {
  const { text } = failureOf('token', new SyntaxError('Unexpected token in {"name":"Oppdikta"}'));
  expect(text).not.toContain('Oppdikta');
});

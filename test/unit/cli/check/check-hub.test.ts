import { expect, it } from 'vitest';
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

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const natural = ['g', 'c', 'a', 'b', 'f', 'd', 'e'];
const model = (differs: Partial<Behaviour>): Script => modelHub({ ids, natural, links: 'none', ...differs });

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
/** `filtered`: the answer to a filter by date. */
const filtering =
  (filtered: Script): Script =>
  (request, response) =>
    (request.query.get('filter')?.startsWith('dateLastModified>') === true ? filtered : list(STAMPED))(
      request,
      response,
    );

it.each([
  ['honours', /^7 rows; paged by keyset$/],
  ['ignores', /^7 rows; paged by offset, not by afterSourcedId: a page repeats itself$/],
  ['refuses', /^7 rows; paged by offset, not by afterSourcedId: the hub answered HTTP 400$/],
] as const)('check says how a sync pages if the hub %s the cursor', async (cursor, text) => {
  const { users, asked } = await check(model({ cursor }), { hub: 'pageSize: 2' });
  expect(users).toMatchObject({ level: 'ok', text: expect.stringMatching(text) as string });
  expect(asked.length).toBeLessThan(16);
});

it.each<[what: string, script: Script, level: string, text: RegExp, hub?: string]>([
  ['fails if hub.paging does not work', noCursor, 'failure', /keyset/, 'paging: keyset\npageSize: 2'],
  ['accepts a hub.paging that works', noCursor, 'ok', /; paged by offset$/, 'paging: offset\npageSize: 2'],
  ['accepts a collection that one page holds', always(['a', 'b', 'c'], 3), 'ok', /^3 rows$/],
  ['accepts a collection of a single row', model({ ids: ['a'] }), 'ok', /^1 row$/],
  ['accepts a total of 0 beside rows', list([{ sourcedId: 'a' }], { 'x-total-count': '0' }), 'ok', /^1 row$/],
  ['fails if the hub counts more rows', list(STAMPED, { 'x-total-count': '9' }), 'failure', /^3 of 9 rows/],
  ['fails for an answer without a list', answer(200), 'failure', /^a response had no list$/],
  ['accepts a collection without rows', answer(204), 'ok', /^no rows$/],
  ['fails for ids that are no text', always([1], 1), 'failure', /have no readable sourcedId/],
  ['asks again after a 403 with Retry-After', inTurn(refused, list([{ sourcedId: 'a' }])), 'ok', /./],
  ['warns of a filter by date that selects nothing', filtering(list([])), 'warning', /selects no row/],
  ['accepts a hub that refuses a filter by date', filtering(answer(400)), 'ok', /^3 rows/],
])('check %s', async (_, script, level, text, hub) => {
  const { users } = await check(script, { hub });
  expect(users).toMatchObject({ level, text: expect.stringMatching(text) as string });
  if (users?.text.startsWith('3 of 9')) expect(users.remedy).toContain('hub.totals to "ignored"');
});

it('check reports a failed collection beside the others, and a common cause of all of them only once', async () => {
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

const PERSON = list([{ sourcedId: 'a', email: 'x', shoeSize: 41 }]);

it.each([
  ['drop: [emial]', ['users ok', 'users failure'], /emial; did you mean email\?$/],
  ['pseudonymise: [emial]', ['users ok', 'users failure'], /emial; did you mean email\?$/],
  ['ignore: [emial], drop: [emial]', ['users ok', 'users failure'], /^drop: no row has the field emial/],
  ['ignore: [shoesize]', ['users ok', 'users warning'], /^ignore: no row has the field shoesize$/],
  ['drop: [email, shoeSize]', ['users ok'], /^1 row$/],
])('check reports a field of a setting that no row has: %s', async (settings, levels, text) => {
  const others = Object.fromEntries(COLLECTIONS.map((name) => [name, { enabled: name === 'users' }]));
  const collections = { ...others, users: parse(`{ ${settings} }`) as object };
  const found = await check(PERSON, {
    tenant: `collections: ${JSON.stringify(collections)}`,
    root: 'pseudonymise: { key: "a key of sixteen characters" }',
  });
  expect([found.levels.slice(1), found.findings.at(-1)?.text]).toEqual([levels, expect.stringMatching(text)]);
});

it('check warns of each afterschool that the hub does not know, and does not suspect hub.baseUrl', async () => {
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

const LESSON = { id: 'l', start: '2026-11-20T08:15', end: '2026-11-20T09:00', class: 'k' };
const WHOLE = { ...LESSON, title: 'Norsk', teachers: ['t'], rooms: ['R'], cancelled: false };
const OF_KARI = { begynner: '2026-11-20T08:15', elev: 'Kari' };
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

it('check asks for the lessons of one student: the first of the hub or of the configuration', async () => {
  expect((await lessonsOf([LESSON])).asked).toEqual([expect.stringContaining('s1')]);
  expect((await lessonsOf([LESSON], 'students: [x, y]')).asked).toEqual([expect.stringMatching(/\bx\b/)]);
  const none = await lessonsOf([LESSON], 'students: all', []);
  expect(none).toMatchObject({ asked: [], finding: { level: 'warning' } });
});

it.each([
  [404, 'warning', /./],
  [403, 'failure', /./],
  [[], 'ok', /^the hub answers, but the tested student has no lessons in these days$/],
  [[WHOLE], 'ok', /^1 lesson of the tested student, with the fields .*, title$/],
  [[LESSON, LESSON], 'ok', /^2 lessons .* id, start; none has: title, teachers, rooms, cancelled$/],
  [[{ ...LESSON, class: { id: 'k' } }], 'warning', /fields class, end, id, start; none has: class, title/],
  [[LESSON, OF_KARI], 'failure', /fields begynner, class, elev, .*; `start` of a lesson is missing$/],
  [[OF_KARI], 'failure', /: no lesson has the field `start`. The answer has the fields: begynner, elev$/],
  [IN_NORWEGIAN, 'ok', /./, 'students: all, fields: { start: begynner, class: gruppe, end: slutt }'],
])(
  'check reports lessons as $1, with the names of their fields (case %$)',
  async (lessons, level, text, settings?: string) => {
    const { finding } = await lessonsOf(lessons, settings);
    expect(finding).toMatchObject({ level, text: expect.stringMatching(text) as string });
    if (level !== 'ok' && typeof lessons !== 'number') expect(finding?.remedy).toContain('schedules.fields');
    expect(JSON.stringify(finding)).not.toContain('Kari');
  },
);

it('a finding of check about an unforeseen error quotes no data', () => {
  const { text } = failureOf('token', new SyntaxError('Unexpected token in {"name":"Oppdikta"}'));
  expect(text).not.toContain('Oppdikta');
});

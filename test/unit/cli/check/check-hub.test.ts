import { describe, expect, it } from 'vitest';
import { checkHub } from '../../../../src/cli/check/check-hub.ts';
import { failureOf, findingsOf, type Finding } from '../../../../src/cli/check/finding.ts';
import { modelHub, type Behaviour } from '../../hub/support/model-hub.ts';
import { answer, readAll, sendJson, serve, testHub, type Script } from '../../hub/support/scripted-hub.ts';
import { load, yamlWith } from '../../config/config-text.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const STANDARD: Behaviour = {
  ids: IDS,
  cursor: 'honours',
  idFilter: 'honours',
  links: 'right',
  total: 'right',
};
const LESSON = { id: 'l', start: '2026-11-20T08:15', end: '2026-11-20T09:00', class: 'k' };
const WHOLE = { ...LESSON, title: 'Norsk', teachers: ['t'], rooms: ['R'], cancelled: false };

/** Checks a hub that answers for users by this script, and for others by another one. */
async function check(
  script: Script,
  options: { tenant?: string; hub?: string; others?: Script } = {},
): Promise<{ findings: Finding[]; levels: string[]; asked: string[]; users: Finding | undefined }> {
  const { tenant: text = 'collections: [users]', hub: settings, others = script } = options;
  await using server = await serve((request, response) => {
    if (request.path === '/token')
      return sendJson(response, { access_token: 't', token_type: 'Bearer', expires_in: 3600 });
    return (request.path.endsWith('/users') ? script : others)(request, response);
  });
  const yaml = yamlWith({ tenant: text, ...(settings === undefined ? {} : { hub: settings }) });
  const [tenant] = load(
    yaml
      .replace('https://hub.example/north/', `${server.origin}/`)
      .replace('https://id.example/token', `${server.origin}/token`),
  ).tenants;
  if (tenant === undefined) throw new Error('no tenant');
  const findings = await findingsOf({
    title: '',
    findings: () => checkHub(tenant, new AbortController().signal),
  });
  return {
    findings,
    levels: findings.map(({ subject, level }) => `${subject} ${level}`),
    asked: server.asked.map(({ path }) => path),
    users: findings.find(({ subject }) => subject === 'users'),
  };
}

const list = (users: readonly object[], headers: Record<string, string> = {}): Script => {
  return ({ query }, response) => {
    const after = query.get('afterSourcedId') ?? '';
    const rest = users.filter((row) => String((row as { sourcedId?: unknown }).sourcedId) > after);
    sendJson(response, { users: rest }, { headers: { link: '<x>; rel="first"', ...headers } });
  };
};
describe('check of how a hub pages', () => {
  it.each([
    ['honours', 'honours', 'keyset'],
    ['ignores', 'honours', 'sourced-id-filter'],
    ['refuses', 'honours', 'sourced-id-filter'],
    ['ignores', 'ignores', 'offset'],
    ['refuses', 'refuses', 'offset'],
  ] as const)(
    'finds the way in which a sync pages: cursor %s, filter %s: %s',
    async (cursor, idFilter, way) => {
      for (const sort of ['honours', 'refuses'] as const) {
        const script = modelHub({ ...STANDARD, cursor, idFilter, sort, links: 'none' });
        await using test = await testHub(script, { pageSize: 2 });
        const { end } = await readAll(test.hub, 'users');
        const { users, asked } = await check(script, { hub: 'pageSize: 2' });
        expect(users?.text).toContain(`7 rows; paged by ${end.paging}`);
        if (sort === 'honours') expect(end.paging).toBe(way);
        expect(users?.level).toBe('ok');
        expect(users?.text.includes('not by afterSourcedId')).toBe(cursor !== 'honours');
        expect(asked.length).toBeLessThan(16);
      }
    },
  );

  it('fails where a sync fails: the hub refuses the prescribed way of paging', async () => {
    const script = modelHub({ ...STANDARD, cursor: 'refuses', links: 'none' });
    expect((await check(script, { hub: 'paging: keyset\npageSize: 2' })).users?.level).toBe('failure');
    const { users } = await check(script, { hub: 'paging: offset\npageSize: 2' });
    expect(users).toMatchObject({ level: 'ok', text: '7 rows; paged by offset' });
  });

  it('needs no paging where one page holds the collection', async () => {
    const users = ['a', 'b', 'c'].map((sourcedId) => ({ sourcedId }));
    const whole: Script = (_, response) =>
      sendJson(response, { users }, { headers: { 'x-total-count': '3' } });
    expect((await check(whole)).users).toMatchObject({ level: 'ok', text: '3 rows' });
    const twoOnly: Script = (_, response) => sendJson(response, { users: users.slice(0, 2) });
    const repeats = { level: 'failure', text: 'the hub keeps returning the same page' };
    expect((await check(twoOnly)).users).toMatchObject(repeats);
    const { users: ignoring } = await check(twoOnly, { hub: 'pageSize: 2' });
    expect(ignoring).toMatchObject({ level: 'failure' });
    expect(ignoring?.text).toContain('ignores limit and offset');
  });

  it('claims nothing of a single row, and a total of 0 beside a row is no count', async () => {
    for (const links of ['right', 'none'] as const) {
      const { users } = await check(modelHub({ ...STANDARD, ids: ['a'], links }));
      expect(users).toMatchObject({ level: 'ok', text: '1 row' });
    }
    const { users } = await check(list([{ sourcedId: 'a' }], { 'x-total-count': '0' }));
    expect(users?.text).toBe('1 row');
  });

  it('says how many rows of a collection came that fits in few pages', async () => {
    const model = modelHub({ ...STANDARD, links: 'none', total: 'none' });
    const script: Script = (request, response) => {
      response.setHeader('x-total-count', '9');
      return model(request, response);
    };
    const { users } = await check(script);
    expect(users).toMatchObject({ level: 'failure', text: '7 of 9 rows came' });
    expect(users?.remedy).toContain('hub.totals: ignored');
  });
});

describe('check of a collection', () => {
  const idsAreNumbers: Script = (_, response) =>
    sendJson(response, { users: [{ sourcedId: 1 }] }, { headers: { 'x-total-count': '1' } });
  it.each([
    ['an answer without a list', answer(200), 'failure', /^a response had no list$/],
    ['no rows', answer(204), 'ok', /^no rows$/],
    ['rows whose ids are no text', idsAreNumbers, 'failure', /have no readable sourcedId/],
    ['HTTP 404', answer(404), 'warning', /^The hub does not offer .*users \(HTTP 404\)$/],
  ])('%s', async (_, script, level, text) => {
    expect((await check(script)).users).toMatchObject({ level, text: expect.stringMatching(text) as string });
  });

  it('is read after a 403 with Retry-After', async () => {
    let asked = 0;
    const script: Script = (request, response) => {
      asked += 1;
      if (asked > 1) return list([{ sourcedId: 'a' }])(request, response);
      return sendJson(response, {}, { status: 403, headers: { 'retry-after': '1' } });
    };
    expect((await check(script)).users?.level).toBe('ok');
  });

  it('that fails does not hide the others, and a failure of all is one finding', async () => {
    const tenant = 'collections: [users, orgs, classes, class-students]';
    const one = await check(list([{ sourcedId: 'a' }]), { tenant, others: answer(404) });
    const rest = ['orgs warning', 'classes warning', 'users ok', 'class-students warning'];
    expect(one.levels).toEqual(['token ok', ...rest]);
    for (const code of [404, 403]) {
      const { levels, findings } = await check(answer(code), { tenant });
      expect(levels).toEqual(['token ok', 'collections failure']);
      if (code === 404) expect(findings[1]?.remedy).toContain('hub.baseUrl');
    }
  });

  it('without rows in any collection is a warning that names the rights', async () => {
    const empty: Script = (_, response) => void response.writeHead(204).end();
    const { levels, findings } = await check(empty, { tenant: 'collections: [users, orgs]' });
    expect(levels).toContain('collections warning');
    expect(findings.find(({ subject }) => subject === 'collections')?.remedy).toContain('hub.scope');
  });
});

describe('check of schedules', () => {
  const lessonsOf = async (
    lessons: readonly unknown[] | number,
    settings = 'students: all',
    students: readonly string[] = ['s1'],
  ) => {
    const asked: (string | null)[] = [];
    const { findings } = await check(list([{ sourcedId: 'a' }]), {
      tenant: `collections: [users, students, schedules]\nschedules: { ${settings} }`,
      others: (request, response) => {
        if (request.path.endsWith('/students'))
          return sendJson(response, { users: students.map((sourcedId) => ({ sourcedId })) });
        asked.push(request.url.href);
        return typeof lessons === 'number' ? answer(lessons)(request, response) : sendJson(response, lessons);
      },
    });
    return { asked, finding: findings.find(({ subject }) => subject === 'schedules') };
  };

  it('asks for one student: the first one, or the first that the configuration names', async () => {
    expect((await lessonsOf([LESSON])).asked).toEqual([expect.stringContaining('s1')]);
    const named = await lessonsOf([LESSON], 'students: [x, y]');
    expect(named.asked).toEqual([expect.stringMatching(/\bx\b/)]);
    expect(await lessonsOf([LESSON], 'students: all', [])).toMatchObject({
      asked: [],
      finding: { level: 'warning' },
    });
  });

  it('asks for none where they are off, or where the hub answers nothing else', async () => {
    expect((await check(list([]))).levels).not.toContain('schedules ok');
    const { asked, levels } = await check(answer(403), {
      tenant: 'collections: [users, students, schedules]\nschedules: { students: all }',
    });
    expect(levels).toEqual(['token ok', 'collections failure']);
    expect(asked.filter((path) => path.includes('schedules'))).toEqual([]);
  });

  it.each([
    [[], 'ok', 'answers; no lessons of the tested student in these days'],
    [[WHOLE], 'ok', /^1 lesson of the tested student, with the fields .*, title$/],
    [
      [LESSON, LESSON],
      'ok',
      '2 lessons of the tested student, with the fields class, end, id, start; none has: title, teachers, rooms, cancelled',
    ],
    [
      [{ ...LESSON, class: { id: 'k' } }],
      'warning',
      /with the fields class, end, id, start; none has: class, title/,
    ],
    [
      [LESSON, { begynner: '2026-11-20T08:15' }],
      'failure',
      /with the fields begynner, class, end, id, start; .*; `start` of a lesson is missing$/,
    ],
    [
      [{ begynner: '2026-11-20T08:15', elev: 'Kari' }],
      'failure',
      'Cannot read the lessons of a student: no lesson has the field `start`. Its fields: begynner, elev',
    ],
  ])('%j is reported as %s, with the names of the fields', async (lessons, level, text) => {
    const { finding } = await lessonsOf(lessons);
    expect(finding).toMatchObject({ level });
    expect(finding?.text).toEqual(typeof text === 'string' ? text : expect.stringMatching(text));
    if (level !== 'ok') expect(finding?.remedy).toContain('schedules.fields');
    expect(JSON.stringify(finding)).not.toContain('Kari');
  });

  it('finds lessons by the field names of the configuration', async () => {
    const lessons = [{ begynner: '2026-11-20T08:15', slutt: '2026-11-20T09:00', gruppe: 'k' }];
    const fields = 'students: all, fields: { start: begynner, class: gruppe, end: slutt }';
    expect((await lessonsOf(lessons, fields)).finding).toMatchObject({ level: 'ok' });
  });

  it('warns about a 404, and fails for another error', async () => {
    expect((await lessonsOf(404)).finding).toMatchObject({ level: 'warning' });
    expect((await lessonsOf(403)).finding).toMatchObject({ level: 'failure' });
  });
});

describe('check of the filter of incremental syncs', () => {
  const rows = [
    { sourcedId: 'a', dateLastModified: '2026-03-04T08:00:00.000Z' },
    { sourcedId: 'b', dateLastModified: '2026-03-05T08:00:00+01:00' },
    { sourcedId: 'c', dateLastModified: '2026-03-04T09:00:00.000Z' },
  ];
  /** `selects`: the rows that a filter by this time selects; it may answer otherwise instead. */
  function filtering(selects: (afterMs: number) => readonly object[] | number): Script {
    return (request, response) => {
      const filter = /^dateLastModified>'(.+)'$/.exec(request.query.get('filter') ?? '');
      const selected = filter === null ? rows : selects(Date.parse(filter[1] ?? ''));
      return (typeof selected === 'number' ? answer(selected) : list(selected))(request, response);
    };
  }
  const modifiedAfter = (afterMs: number): object[] =>
    rows.filter(({ dateLastModified }) => Date.parse(dateLastModified) > afterMs);

  it('asks for the row that was modified last, by a time just before that', async () => {
    const asked: number[] = [];
    const script = filtering((afterMs) => {
      asked.push(afterMs);
      return modifiedAfter(afterMs);
    });
    expect((await check(script)).users?.level).toBe('ok');
    expect(new Set(asked)).toEqual(new Set([Date.parse('2026-03-05T06:59:59Z')]));
  });

  it.each([
    ['selects nothing', () => []],
    ['answers 404', () => 404],
    ['takes a time in UTC for one of its own zone', (afterMs: number) => modifiedAfter(afterMs + 3_600_000)],
  ])('says so where the hub %s', async (_, selects) => {
    expect((await check(filtering(selects))).users).toMatchObject({
      level: 'warning',
      text: expect.stringContaining('does not come when it is asked for by a time'),
    });
  });

  it.each([
    ['the filter is refused', filtering(() => 400)],
    ['no listed row has a time', list([{ sourcedId: 'a' }])],
    [
      'the row may be on a later page',
      (request, response) =>
        request.query.has('filter')
          ? sendJson(response, { users: [{ sourcedId: `${request.query.get('afterSourcedId') ?? ''}x` }] })
          : list(rows)(request, response),
    ],
  ] satisfies readonly (readonly [string, Script])[])('claims nothing where %s', async (_, script) => {
    expect((await check(script)).users?.level).toBe('ok');
  });
});

it('a finding about an unknown error quotes no data', () => {
  const { text } = failureOf('token', new SyntaxError('Unexpected token in {"name":"Oppdikta"}'));
  expect(text).not.toContain('Oppdikta');
});

import { describe, expect, it } from 'vitest';
import { scheduleFindings } from '../../../../src/cli/check/check-schedules.ts';
import type { Finding } from '../../../../src/cli/check/finding.ts';
import { HubError } from '../../../../src/hub/hub-error.ts';
import type { CollectionProbe } from '../../../../src/hub/probe-hub.ts';
import { collectionNamed } from '../../../../src/model/collections.ts';
import { load, yamlWith } from '../../config/config-text.ts';

const signal = new AbortController().signal;
const LESSON = { id: 'l', start: '2026-11-20T08:15', end: '2026-11-20T09:00', class: 'k' };
const WHOLE = { ...LESSON, title: 'Norsk', teachers: ['t'], rooms: ['R'], cancelled: false };

function probeOf(firstId: string | null): CollectionProbe {
  return {
    rows: 1,
    rowsWithId: 1,
    asked: 2,
    total: 1,
    leadsOut: null,
    paging: null,
    whySteppedDown: null,
    isRepeated: false,
    short: null,
    skewMs: 0,
    firstId,
    dateFilterFinds: null,
  };
}

async function check(
  answer: readonly unknown[] | Error,
  options: { tenant?: string; firstId?: string | null | HubError; isAway?: boolean } = {},
): Promise<{ findings: Finding[]; asked: string[] }> {
  const { tenant: text = 'deltaEvery: 1m', firstId = 's1', isAway = false } = options;
  const [tenant] = load(yamlWith({ tenant: text })).tenants;
  if (tenant === undefined) throw new Error('no tenant');
  const asked: string[] = [];
  const findings = await scheduleFindings(
    {
      collection: () =>
        firstId instanceof Error ? Promise.reject(firstId) : Promise.resolve(probeOf(firstId)),
      readSchedule: ({ student }) => {
        asked.push(student);
        if (answer instanceof Error) return Promise.reject(answer);
        return Promise.resolve({ lessons: answer, isUtf8: true, hubTimeMs: null });
      },
    },
    {
      tenant,
      probed: [{ collection: collectionNamed('orgs'), probe: isAway ? undefined : probeOf('o') }],
      signal,
    },
  );
  return { findings, asked };
}

describe('check of schedules', () => {
  it('asks for one student: the first one, or the first that the configuration names', async () => {
    expect((await check([LESSON])).asked).toEqual(['s1']);
    expect((await check([LESSON], { tenant: 'schedules: { students: [x, y] }' })).asked).toEqual(['x']);
    expect((await check([LESSON], { firstId: null })).findings[0]).toMatchObject({ level: 'warning' });
  });

  it('asks for none where schedules are off, or where the hub answers nothing else', async () => {
    expect(await check([LESSON], { tenant: 'collections: [users]' })).toEqual({ findings: [], asked: [] });
    expect(await check([LESSON], { isAway: true })).toEqual({ findings: [], asked: [] });
  });

  it.each([
    [[], 'ok', 'answers; no lessons of the tested student in these days'],
    [[WHOLE], 'ok', /^1 lesson of the tested student, with the fields .*, title; every part is found$/],
    [
      [LESSON, LESSON],
      'ok',
      '2 lessons of the tested student, with the fields class, end, id, start; none has: title, teachers, rooms, cancelled',
    ],
    [
      [
        { ...LESSON, class: { id: 'k' } },
        { ...LESSON, class: null },
      ],
      'warning',
      /^2 lessons of .*, with the fields class, end, id, start; none has: class, title/,
    ],
    [
      [LESSON, { begynner: '2026-11-20T08:15' }],
      'failure',
      /with the fields begynner, class, end, id, start; `start` of a lesson is missing$/,
    ],
    [
      [{ begynner: '2026-11-20T08:15', elev: 'Kari' }],
      'failure',
      'Cannot read the lessons of a student: no lesson has the field `start`. Its fields: begynner, elev',
    ],
    [['a text'], 'failure', /no lesson has the field `start`. Its fields: none$/],
  ])('%j is reported as %s, with the names of the fields', async (lessons, level, text) => {
    const { findings } = await check(lessons);
    expect(findings).toMatchObject([{ subject: 'schedules', level }]);
    expect(findings[0]?.text).toEqual(typeof text === 'string' ? text : expect.stringMatching(text));
    if (level !== 'ok') expect(findings[0]?.remedy).toContain('schedules.fields');
    expect(JSON.stringify(findings)).not.toContain('Kari');
  });

  it("where the hub does not offer absences, asks for no student's lessons and warns that absent students get no schedules", async () => {
    const [tenant] = load(yamlWith({ tenant: 'deltaEvery: 1m' })).tenants;
    if (tenant === undefined) throw new Error('no tenant');
    const error = new HubError('HUB_NOT_OFFERED', 'no', { remedy: 'r' });
    const never = (): never => {
      throw new Error('no student may be asked for');
    };
    const findings = await scheduleFindings(
      { collection: never, readSchedule: never },
      {
        tenant,
        probed: [
          { collection: collectionNamed('orgs'), probe: probeOf('o') },
          { collection: collectionNamed('absence-versions'), error },
        ],
        signal,
      },
    );
    expect(findings).toMatchObject([{ subject: 'schedules', level: 'warning' }]);
    expect(findings[0]?.text).toContain('does not offer absence-versions');
  });

  it('where the hub does not offer students, says that there is none to test it with', async () => {
    const error = new HubError('HUB_NOT_OFFERED', 'no', { remedy: 'r' });
    const { findings, asked } = await check([LESSON], { firstId: error });
    expect(findings).toMatchObject([{ level: 'warning' }]);
    expect(findings[0]?.text).toContain('no student to test it with');
    expect(asked).toEqual([]);
  });

  it('finds lessons by the field names of the configuration', async () => {
    const tenant = 'schedules: { fields: { start: begynner, class: gruppe, end: slutt } }';
    const { findings } = await check(
      [{ begynner: '2026-11-20T08:15', slutt: '2026-11-20T09:00', gruppe: 'k' }],
      { tenant },
    );
    expect(findings).toMatchObject([{ level: 'ok' }]);
  });

  it('warns about a 404, and fails for another error', async () => {
    const error = (code: 'HUB_NOT_OFFERED' | 'HUB_FORBIDDEN') => new HubError(code, 'no', { remedy: 'r' });
    expect((await check(error('HUB_NOT_OFFERED'))).findings).toMatchObject([{ level: 'warning' }]);
    expect((await check(error('HUB_FORBIDDEN'))).findings).toMatchObject([{ level: 'failure', text: 'no' }]);
  });
});

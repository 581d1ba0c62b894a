import { afterAll, describe, expect, it } from 'vitest';
import type { Row } from './hub-client.ts';
import { ABSENCES, NOON, ROSTERING, SCHEDULES, USERS, startTestHub } from './hub-client.ts';

const TIMES = { fromTime: '2026-11-20T07:30:00.000Z', toTime: '2026-11-20T08:15:00.000Z' };
const WEEK = { from: '2026-11-16', to: '2026-11-20' };

const test = await startTestHub({ students: 30, size: { absencesPerStudentYear: 20 } });
afterAll(() => test[Symbol.asyncDispose]());
const { district, clock } = test.hub;
const [student = '', other = ''] = district.ids('students');
const idOf = (reference: unknown): string => (reference as { sourcedId: string }).sourcedId;
const record = async (id: string): Promise<Row> =>
  (await test.get(ABSENCES, { filter: `sourcedId='${id}'` })).rows[0]!;
describe('absences of the reference hub', () => {
  it('2.2, 3: a record is replaced by a new one and deleted as a tombstone, and nothing else of it changes; purged, its chain is gone', async () => {
    const [classId = ''] = district.ids('classes');
    const id = district.registerAbsence({ student, classId, ...TIMES });
    const first = await record(id);
    expect(first).toMatchObject({
      status: 'active',
      ...TIMES,
      absenceDurationUnit: 'Minutes',
      absenceDurationValue: 45,
      student: { sourcedId: student, type: 'user' },
      school: [{ type: 'org' }],
      term: { type: 'academicSession' },
      classesAffected: { sourcedId: classId, type: 'class' },
      replaces: null,
      replacedBy: null,
    });
    expect(first).not.toHaveProperty('deletedTime');

    clock.advance(60_000);
    const tail = district.replaceAbsence(id, { changes: { toTime: '2026-11-20T07:45:00.000Z' } });
    const [replaced, successor] = [await record(id), await record(tail)];
    expect({ ...replaced, replacedBy: null, dateLastModified: first['dateLastModified'] }).toEqual(first);
    expect(replaced['dateLastModified']).not.toBe(first['dateLastModified']);
    expect(idOf(replaced['replacedBy'])).toBe(tail);
    expect(successor).toMatchObject({
      replaces: { sourcedId: id },
      replacedBy: null,
      absenceDurationValue: 15,
    });
    expect(successor['student']).toEqual(first['student']);
    expect(() => district.replaceAbsence(id)).toThrow('replaced already');
    expect(() => district.deleteAbsence(id)).toThrow('replaced already');

    district.deleteAbsence(tail);
    const deleted = await record(tail);
    const { deletedTime, dateLastModified } = deleted as { deletedTime: string; dateLastModified: string };
    expect(Math.abs(Date.parse(deletedTime) - Date.parse(dateLastModified))).toBeLessThan(1_000);
    expect(deleted).toEqual({ ...successor, deletedTime, dateLastModified });
    expect(() => district.replaceAbsence(tail)).toThrow('deleted already');

    expect(district.purgeAbsence(id).toSorted()).toEqual([id, tail].toSorted());
    expect([district.get('absences', id), district.get('absences', tail)]).toEqual([undefined, undefined]);
  });
});

describe('modification times of the reference hub (spec 1 rule 3)', () => {
  it('a changed row gets a new one, unless it is to keep the old one, and no other row does; it is served as it then is', async () => {
    const since = new Date(clock.now()).toISOString();
    const changed = async (path: string): Promise<readonly Row[]> =>
      (await test.get(path, { filter: `dateLastModified>'${since}'` })).rows;
    clock.advance(1000);
    district.patch('users', other, { givenName: 'Silent' }, { stamp: false });
    expect(await changed(USERS)).toEqual([]);
    district.patch('users', student, { givenName: 'Annen' });
    expect(await changed(USERS)).toMatchObject([{ sourcedId: student, givenName: 'Annen' }]);
    expect(await changed(`${ROSTERING}/students`)).toEqual(await changed(USERS));
    expect(district.get('users', other)).toMatchObject({ givenName: 'Silent' });
    district.put('users', { sourcedId: student, status: 'tobedeleted' });
    expect(await changed(USERS)).toMatchObject([{ sourcedId: student, status: 'tobedeleted' }]);
    district.remove('users', student);
    expect(await changed(USERS)).toEqual([]);
  });

  it('the nightly re-stamp changes that of every row and nothing else', async () => {
    const names = ['users', 'students', 'absences', 'enrollments', 'results', 'categories'];
    const before = names.map((name) => district.snapshot(name));
    clock.advance(3_600_000);
    const stamp = new Date(district.restamp()).toISOString();
    const expected = before.map((rows) => rows.map((row) => Object.assign(row, { dateLastModified: stamp })));
    expect(names.map((name) => district.snapshot(name))).toEqual(expected);
    const filter = `dateLastModified>'${new Date(NOON + 1_800_000).toISOString()}'`;
    expect((await test.get(USERS, { filter, limit: 1 })).total).toBe(String(before[0]!.length));
  });
});

describe('lessons of the reference hub (spec 4.4)', () => {
  interface Lesson {
    readonly id: string;
    readonly start: string;
    readonly end: string;
    readonly class: unknown;
  }
  const lessonsOf = async (id: string, range: { from: string; to: string }): Promise<readonly Lesson[]> =>
    (await test.get(SCHEDULES, { student: id, ...range })).rows as unknown as Lesson[];

  it('are those of the classes of a student in the range, one after the other, in UTC by the clock of Oslo', async () => {
    const week = await lessonsOf(other, WEEK);
    const [monday] = week;
    const ends = ['', ...week.map(({ end }) => end)];
    const own = district.snapshot('enrollments').filter((row) => idOf(row['user']) === other);
    const classes = new Set(own.map((row) => idOf(row['class'])));
    expect(week).toHaveLength(30);
    expect(week.filter((lesson) => !classes.has(idOf(lesson.class)))).toEqual([]);
    expect(week.filter(({ start }, at) => start < ends[at]!)).toEqual([]);
    expect([monday!.start, week.at(-1)!.end < '2026-11-20T14']).toEqual(['2026-11-16T07:30:00.000Z', true]);
    const days = [
      ...(await lessonsOf(other, { from: '2026-11-14', to: '2026-11-16' })),
      ...(await lessonsOf(other, { from: '2026-11-17', to: '2026-11-22' })),
    ];
    expect(days).toEqual(week);
    const [summer] = await lessonsOf(other, { from: '2026-09-07', to: '2026-09-07' });
    expect(summer!.start).toBe('2026-09-07T06:30:00.000Z');
  });

  it('1.1: of its class, exactly one overlaps an absence', async () => {
    const absences = district.snapshot('absences').filter((row) => row['classesAffected'] !== undefined);
    expect(absences.length).toBeGreaterThan(20);
    for (const absence of absences.slice(0, 60)) {
      const [from, to] = [absence['fromTime'] as string, absence['toTime'] as string];
      const day = from.slice(0, 10);
      const lessons = await lessonsOf(idOf(absence['student']), { from: day, to: day });
      const found = lessons.filter(({ start, end }) => start < to && end > from);
      expect(found.map((lesson) => idOf(lesson.class))).toEqual([idOf(absence['classesAffected'])]);
    }
  });
});

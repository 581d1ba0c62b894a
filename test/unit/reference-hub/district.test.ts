import { afterAll, expect, it } from 'vitest';
import type { Row } from './hub-client.ts';
import { ABSENCES, NOON, ROSTERING, SCHEDULES, USERS, startTestHub } from './hub-client.ts';

const TIMES = { fromTime: '2026-11-20T07:30:00.000Z', toTime: '2026-11-20T08:15:00.000Z' };

const test = await startTestHub({ students: 30, size: { absencesPerStudentYear: 20 } });
afterAll(() => test[Symbol.asyncDispose]());
const { district, clock } = test.hub;
const [student = '', other = ''] = district.ids('students');
const idOf = (reference: unknown): string => (reference as { sourcedId: string }).sourcedId;
const record = async (id: string): Promise<Row> =>
  (await test.get(ABSENCES, { filter: `sourcedId='${id}'` })).rows[0]!;
it('an absence record of the reference hub is replaced, deleted or purged (spec 2.2, 3)', async () => {
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

it('a changed row of the reference hub gets a new dateLastModified, and no other row does (spec 1)', async () => {
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

it('a re-stamp of the reference hub changes every dateLastModified, and nothing else (spec 1)', async () => {
  const names = ['users', 'students', 'absences', 'enrollments', 'results', 'categories'];
  const before = names.map((name) => district.snapshot(name));
  clock.advance(3_600_000);
  const stamp = new Date(district.restamp()).toISOString();
  const expected = before.map((rows) => rows.map((row) => Object.assign(row, { dateLastModified: stamp })));
  expect(names.map((name) => district.snapshot(name))).toEqual(expected);
  const filter = `dateLastModified>'${new Date(NOON + 1_800_000).toISOString()}'`;
  expect((await test.get(USERS, { filter, limit: 1 })).total).toBe(String(before[0]!.length));
});

it('an absence of the reference hub overlaps exactly one lesson of its class (spec 1.1)', async () => {
  const absences = district.snapshot('absences').filter((row) => row['classesAffected'] !== undefined);
  expect(absences.length).toBeGreaterThan(20);
  for (const absence of absences.slice(0, 60)) {
    const [from, to] = [absence['fromTime'] as string, absence['toTime'] as string];
    const day = from.slice(0, 10);
    const range = { student: idOf(absence['student']), from: day, to: day };
    const lessons = (await test.get(SCHEDULES, range)).rows as {
      start: string;
      end: string;
      class: unknown;
    }[];
    const found = lessons.filter(({ start, end }) => start < to && end > from);
    expect(found.map((lesson) => idOf(lesson.class))).toEqual([idOf(absence['classesAffected'])]);
  }
});

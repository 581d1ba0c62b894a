import { describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { ABSENCES, NOON, ROSTERING, startTestHub } from './hub-client.ts';

const TIMES = { fromTime: '2026-11-20T07:30:00.000Z', toTime: '2026-11-20T08:15:00.000Z' };

async function record(test: TestHub, id: string): Promise<Record<string, unknown>> {
  return (await test.get(ABSENCES, { filter: `sourcedId='${id}'` })).rows[0]!;
}

describe('absence detail records (spec 2.2, 3)', () => {
  it('2.2: a new record has every field of the table and begins a chain of its own', async () => {
    await using test = await startTestHub({ students: 20 });
    const [student] = test.hub.district.ids('students');
    const [classId] = test.hub.district.ids('classes');
    const id = test.hub.district.registerAbsence({ student: student!, classId: classId!, ...TIMES });
    const row = await record(test, id);
    expect(row).toMatchObject({
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
    expect(row).not.toHaveProperty('deletedTime');
    expect(Date.parse(row['dateLastModified'] as string)).toBeGreaterThanOrEqual(NOON);
  });

  it('3: a replacement changes only replacedBy and the modification time of the old record', async () => {
    await using test = await startTestHub({ students: 20 });
    const { district, clock } = test.hub;
    const id = district.registerAbsence({ student: district.ids('students')[0]!, ...TIMES });
    const before = await record(test, id);
    clock.advance(60_000);
    const newId = district.replaceAbsence(id, { changes: { toTime: '2026-11-20T07:45:00.000Z' } });
    const [old, successor] = [await record(test, id), await record(test, newId)];
    expect({ ...old, replacedBy: null, dateLastModified: before['dateLastModified'] }).toEqual(before);
    expect(old['replacedBy']).toMatchObject({ sourcedId: newId });
    expect(old['dateLastModified']).not.toBe(before['dateLastModified']);
    expect(successor).toMatchObject({
      replaces: { sourcedId: id },
      replacedBy: null,
      absenceDurationValue: 15,
      student: before['student'],
    });
    expect(() => district.replaceAbsence(id)).toThrow('replaced already');
    expect(() => {
      district.deleteAbsence(id);
    }).toThrow('replaced already');
  });

  it('3: a deletion sets deletedTime, changes nothing else and keeps the record', async () => {
    await using test = await startTestHub({ students: 20 });
    const { district } = test.hub;
    const id = district.registerAbsence({ student: district.ids('students')[0]!, ...TIMES });
    const before = await record(test, id);
    district.deleteAbsence(id);
    const after = await record(test, id);
    expect(after['deletedTime']).toMatch(/^2026-11-20T11:00:\d\d\.\d{3}Z$/);
    expect({ ...after, dateLastModified: 0 }).toEqual({
      ...before,
      deletedTime: after['deletedTime'],
      dateLastModified: 0,
    });
    expect(() => district.replaceAbsence(id)).toThrow('deleted already');
  });

  it('a purge removes every version of the chain', async () => {
    await using test = await startTestHub({ students: 20 });
    const { district } = test.hub;
    const root = district.registerAbsence({ student: district.ids('students')[0]!, ...TIMES });
    const middle = district.replaceAbsence(root);
    const tail = district.replaceAbsence(middle);
    expect(district.purgeAbsence(middle).toSorted()).toEqual([root, middle, tail].toSorted());
    expect([root, middle, tail].map((id) => district.get('absences', id))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('a summary always counts the current absences', async () => {
    await using test = await startTestHub({ students: 20, size: { absencesPerStudentYear: 0 } });
    const { district } = test.hub;
    const student = district.ids('students')[0]!;
    const summary = (): unknown =>
      district
        .snapshot('absence-summaries')
        .filter((row) => (row['student'] as { sourcedId: string }).sourcedId === student)
        .map((row) => [row['numberOfAbsences'], row['absenceDurationValue'], row['numberOfFullDays']]);
    const id = district.registerAbsence({ student, ...TIMES });
    expect(summary()).toEqual([[1, 45, 1]]);
    const newId = district.replaceAbsence(id, { changes: { toTime: '2026-11-20T07:45:00.000Z' } });
    expect(summary()).toEqual([[1, 15, 1]]);
    district.deleteAbsence(newId);
    expect(summary()).toEqual([[0, 0, 0]]);
  });
});

describe('modification times (spec 1 rules 3 and 4)', () => {
  it('the nightly re-stamp changes the modification time of every row and nothing else', async () => {
    await using test = await startTestHub({ students: 30 });
    const { district, clock } = test.hub;
    const names = ['users', 'students', 'absences', 'enrollments', 'results', 'categories'];
    const before = names.map((name) => district.snapshot(name));
    clock.advance(3_600_000);
    const stamp = new Date(district.restamp()).toISOString();
    for (const [index, name] of names.entries()) {
      const expected = before[index]!.map((row) => Object.assign(row, { dateLastModified: stamp }));
      expect(district.snapshot(name)).toEqual(expected);
    }
    const page = await test.get(`${ROSTERING}/users`, {
      filter: `dateLastModified>'${new Date(NOON + 1_800_000).toISOString()}'`,
      limit: 1,
    });
    expect(page.headers.get('x-total-count')).toBe(String(before[0]!.length));
  });

  it('rule 3: a changed row gets a new modification time, and no other row does', async () => {
    await using test = await startTestHub({ students: 30 });
    const id = test.hub.district.ids('users')[3]!;
    const since = new Date(NOON - 1000).toISOString();
    const changed = async (): Promise<string[]> =>
      (await test.get(`${ROSTERING}/users`, { filter: `dateLastModified>'${since}'` })).ids;
    expect(await changed()).toEqual([]);
    test.hub.district.patch('users', id, { givenName: 'Annen' });
    expect(await changed()).toEqual([id]);
    expect((await test.get(`${ROSTERING}/students`, { filter: `sourcedId='${id}'` })).rows).toEqual(
      test.hub.district.snapshot('students').filter((row) => row['sourcedId'] === id),
    );
  });

  it('a change may keep the old modification time', async () => {
    await using test = await startTestHub({ students: 30 });
    const id = test.hub.district.ids('users')[3]!;
    const before = test.hub.district.get('users', id)!;
    test.hub.district.patch('users', id, { givenName: 'Annen' }, { stamp: false });
    expect(test.hub.district.get('users', id)).toEqual({ ...before, givenName: 'Annen' });
  });

  it('a row is served as it is after every kind of change', async () => {
    await using test = await startTestHub({ students: 30 });
    const { district, clock } = test.hub;
    const id = district.ids('orgs')[0]!;
    const served = async (): Promise<Record<string, unknown> | undefined> =>
      (await test.get(`${ROSTERING}/orgs`)).rows.find((row) => row['sourcedId'] === id);
    const seen = [await served()];
    clock.advance(1000);
    district.restamp();
    seen.push(await served());
    district.put('orgs', { sourcedId: id, status: 'tobedeleted', name: 'Ø' });
    seen.push(await served());
    expect(new Set(seen.map((row) => JSON.stringify(row))).size).toBe(3);
    expect(seen[2]).toMatchObject({ name: 'Ø', status: 'tobedeleted' });
    district.remove('orgs', id);
    expect(await served()).toBeUndefined();
  });
});

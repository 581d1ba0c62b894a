import { describe, expect, it, vi } from 'vitest';
import { absentStudents, dayKey } from '../../oracle/schedules.ts';
import type { TopicRecord } from '../support/stack-kafka.ts';
import { openScheduleMirror, type ScheduleMirror } from './schedule-mirror.ts';

const MONDAY = '2026-03-09';

/** Keys of `schedules` and the kind of their records, in the order of the keys. */
function brief(records: readonly TopicRecord[]): string[] {
  return records
    .filter(({ topic }) => topic.endsWith('.schedules'))
    .map(({ key, value, headers }) => {
      const count = value === null ? '' : ` ${(value['lessons'] as unknown[]).length}`;
      return `${key} ${headers['ce_type']?.split('.').at(-1)}${count}`;
    })
    .toSorted();
}

describe('all students', () => {
  const dayOfEach = (students: readonly string[], date: string, what: string): string[] =>
    students.map((each) => `${dayKey(each, date)} ${what}`).toSorted();

  it('schedules equal the hub, repeat no record, and leave with the days of the window', async () => {
    await using mirror = await openScheduleMirror({
      students: 'all',
      hubOptions: { faults: ['not-offered@schedules'] },
    });
    const { district, faults } = mirror.hub;
    const students = district.ids('students');
    const full = async () => (await mirror.full('schedules')).get('schedules');

    const outcomes = await mirror.attempt('FULL');
    expect(
      outcomes.map(({ collection, error }) => [collection, (error as { code?: string } | null)?.code]),
    ).toEqual([
      ['students', undefined],
      ['schedules', 'HUB_NOT_OFFERED'],
    ]);
    faults.clear();
    faults.set('schedules-shape=odata@schedules');
    mirror.asked();
    await full();
    expect(new Set(mirror.asked())).toEqual(new Set(students));
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
    const progress = (await mirror.view('progress')).get('schedules')?.value;
    expect(progress).toMatchObject({
      timeZone: 'Europe/Oslo',
      lastCompleteFull: { rows: 50, rowsRejected: 0 },
    });
    const before = await mirror.ends();
    faults.clear();
    district.restamp();
    await mirror.parts.state.collection('schedules').rebuild();
    await mirror.restart();
    await mirror.full();
    expect(await mirror.since(before)).toEqual([]);

    mirror.advanceDays(1);
    expect(await full()).toMatchObject({ kind: 'complete', rowsOnHold: 0, stats: { rowsRemoved: 10 } });
    // The day that entered the window is a Saturday.
    expect(brief(await mirror.since(before))).toEqual(dayOfEach(students, MONDAY, 'deleted'));
  });
});

describe('absent students', () => {
  const DAYS = { students: 'absent', hubOptions: { students: 60 } } as const;

  /** Students without an absence in any window of these tests. */
  function present({ hub }: ScheduleMirror): string[] {
    const absent = absentStudents(hub, { from: '2026-03-01', to: '2026-03-20' });
    return hub.district.ids('students').filter((each) => !absent.has(each));
  }
  const register = (
    { hub }: ScheduleMirror,
    student: string,
    [fromTime, toTime]: readonly [string, string],
  ): string => hub.district.registerAbsence({ student, fromTime, toTime });
  const THIS_DAY = ['2026-03-10T07:00:00Z', '2026-03-10T12:00:00Z'] as const;

  it('schedules are mirrored for exactly the students who are absent in the window', async () => {
    await using mirror = await openScheduleMirror(DAYS);
    const [late = '', early = '', later = '', earlier = '', student = '', longAgo = ''] = present(mirror);
    // The window is from Monday the 9th to Friday the 13th; Oslo is an hour ahead.
    register(mirror, earlier, ['2026-03-08T22:00:00Z', '2026-03-08T22:59:00Z']);
    register(mirror, early, ['2026-03-08T22:00:00Z', '2026-03-08T23:30:00Z']);
    register(mirror, late, ['2026-03-13T22:30:00Z', '2026-03-16T12:00:00Z']);
    register(mirror, later, ['2026-03-13T23:30:00Z', '2026-03-16T12:00:00Z']);
    await mirror.full();
    const absent = [...absentStudents(mirror.hub, mirror.window())].toSorted();
    expect(absent).toEqual(expect.arrayContaining([early, late]));
    for (const outside of [earlier, later]) expect(absent).not.toContain(outside);
    expect(mirror.asked()).toEqual(absent);
    expect(await mirror.scheduleDifferences(absent)).toEqual([]);

    const id = register(mirror, student, THIS_DAY);
    register(mirror, longAgo, ['2026-02-03T07:00:00Z', '2026-02-03T12:00:00Z']);
    await mirror.incremental();
    expect(mirror.asked()).toEqual([student]);
    expect(await mirror.scheduleDifferences([...absent, student])).toEqual([]);
    mirror.hub.district.deleteAbsence(id);
    await mirror.incremental();
    expect((await mirror.full()).get('schedules')).toMatchObject({ kind: 'complete', rowsOnHold: 0 });
    expect(await mirror.scheduleDifferences(absent)).toEqual([]);
    const before = await mirror.ends();
    for (const name of ['schedules', 'absence-versions'] as const)
      await mirror.parts.state.collection(name).rebuild();
    await mirror.restart();
    await mirror.full();
    expect(await mirror.since(before)).toEqual([]);
  });

  it('schedules follow changes of absences, and a hanging Core API delays no absence', async () => {
    await using mirror = await openScheduleMirror({
      ...DAYS,
      tenant: { incrementalEvery: '300ms' },
      hubSettings: { maxConcurrentRequests: 1, requestTimeout: '10m' },
    });
    await mirror.full();
    mirror.asked();
    await using _ = mirror.run();
    const shown = async (student: string): Promise<void> => {
      const absences = [...(await mirror.view('absences')).values()];
      expect(absences.map(({ value }) => value?.['student'] as object | null)).toContainEqual(
        expect.objectContaining({ sourcedId: student }),
      );
    };
    const absent = absentStudents(mirror.hub, mirror.window());
    const [student = '', other = ''] = present(mirror);
    register(mirror, student, THIS_DAY);
    await vi.waitFor(async () => expect(await mirror.scheduleDifferences([...absent, student])).toEqual([]));
    mirror.hub.faults.set('latency=600000@schedules');
    for (const each of [other, student]) register(mirror, each, THIS_DAY);
    await vi.waitFor(() => shown(other));
    expect(mirror.events.map(({ type }) => type)).not.toContain('session-failed');
  });
});

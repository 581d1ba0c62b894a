import { describe, expect, it, vi } from 'vitest';
import { absentStudents } from '../support/schedule-oracle.ts';
import { living, openScheduleMirror, type ScheduleMirror } from './schedule-mirror.ts';

const DAYS = { daysBack: 1, daysAhead: 3, hubOptions: { students: 60 } } as const;

const present = (mirror: ScheduleMirror): string[] => {
  const absent = absentStudents(mirror.hub, { from: '2026-01-01', to: '2026-12-31' });
  const left = mirror.hub.district.ids('students').filter((student) => !absent.has(student));
  // A student who is absent in that year but not in the window will do as well.
  const inWindow = absentStudents(mirror.hub, mirror.window());
  return left.length > 3 ? left : mirror.hub.district.ids('students').filter((each) => !inWindow.has(each));
};

const studentsIn = async (mirror: ScheduleMirror): Promise<string[]> => {
  const keys = [...(await mirror.view('schedules')).keys()];
  return [...new Set(keys.map((key) => key.split('|')[0] ?? ''))].toSorted();
};

function register(mirror: ScheduleMirror, student: string, fromTime: string, toTime: string): string {
  return mirror.hub.district.registerAbsence({ student, fromTime, toTime });
}

describe('schedules of absent students', () => {
  it('are those of exactly the students who are absent in the window', async () => {
    await using mirror = await openScheduleMirror({ students: 'absent', ...DAYS });
    await mirror.full();
    const absent = absentStudents(mirror.hub, mirror.window());
    expect(absent.size).toBeGreaterThan(2);
    expect(absent.size).toBeLessThan(40);
    expect(await studentsIn(mirror)).toEqual([...absent].toSorted());
    expect(await mirror.scheduleDifferences(absent)).toEqual([]);
    expect([...mirror.asked().keys()].toSorted()).toEqual([...absent].toSorted());
  });

  it('include absences that overlap the edge of the window, and none beyond it', async () => {
    await using mirror = await openScheduleMirror({ students: 'absent', ...DAYS });
    const [a = '', b = '', c = '', d = ''] = present(mirror);
    // The window is from Monday the 9th to Friday the 13th; Oslo is an hour ahead.
    register(mirror, a, '2026-03-08T22:00:00Z', '2026-03-08T22:59:00Z');
    register(mirror, b, '2026-03-08T22:00:00Z', '2026-03-08T23:30:00Z');
    register(mirror, c, '2026-03-13T22:30:00Z', '2026-03-16T12:00:00Z');
    register(mirror, d, '2026-03-13T23:30:00Z', '2026-03-16T12:00:00Z');
    await mirror.full();
    const published = await studentsIn(mirror);
    expect([a, b, c, d].map((student) => published.includes(student))).toEqual([false, true, true, false]);
  });

  it('include a student who becomes absent, until the full sync after the absence is deleted', async () => {
    await using mirror = await openScheduleMirror({ students: 'absent', ...DAYS });
    await mirror.full();
    const absent = absentStudents(mirror.hub, mirror.window());
    const [student = '', longAgo = ''] = present(mirror);
    mirror.asked();
    const id = register(mirror, student, '2026-03-10T07:00:00Z', '2026-03-10T12:00:00Z');
    register(mirror, longAgo, '2026-02-03T07:00:00Z', '2026-02-03T12:00:00Z');
    await mirror.delta();
    expect([...mirror.asked().keys()]).toEqual([student]);
    expect(await mirror.scheduleDifferences([...absent, student])).toEqual([]);
    mirror.hub.district.deleteAbsence(id);
    await mirror.delta();
    expect(await mirror.scheduleDifferences([...absent, student])).toEqual([]);
    const result = (await mirror.full()).get('schedules');
    expect(result).toMatchObject({ kind: 'complete', withheld: 0 });
    expect(await mirror.scheduleDifferences(absent)).toEqual([]);
  });

  it('are not published again after a restart or a lost index', async () => {
    await using mirror = await openScheduleMirror({ students: 'absent', ...DAYS });
    await mirror.full();
    const before = await mirror.ends();
    await mirror.restart();
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
    for (const name of ['schedules', 'absence-versions'] as const) {
      await mirror.parts.state.collection(name).rebuild();
    }
    await mirror.restart();
    await mirror.full();
    expect(await mirror.since(before)).toEqual([]);
    expect(await mirror.scheduleDifferences(absentStudents(mirror.hub, mirror.window()))).toEqual([]);
  });
});

describe('while the tenant is mirrored', () => {
  const asked = (mirror: ScheduleMirror, student: string): number => {
    const requests = mirror.hub.requests.all().filter(({ target }) => target === 'schedules');
    return requests.filter(({ url }) => url.includes(`student=${student}&`)).length;
  };

  it('each change of an absence makes Rollcall ask for its student, if still absent, and for no other', async () => {
    await using mirror = await openScheduleMirror({
      students: 'absent',
      ...DAYS,
      tenant: { deltaEvery: '300ms' },
    });
    await living(mirror, async () => {
      const absent = absentStudents(mirror.hub, mirror.window());
      await vi.waitFor(
        async () => {
          const progress = (await mirror.view('progress')).get('schedules')?.value;
          expect(progress?.['lastCompleteFull']).toMatchObject({ rowsWithheld: 0 });
        },
        { timeout: 60_000, interval: 300 },
      );
      expect(await mirror.scheduleDifferences(absent)).toEqual([]);
      const [student = '', other = '', another = ''] = present(mirror);
      const known = [...absent][0] ?? '';
      expect([asked(mirror, student), asked(mirror, known)]).toEqual([0, 1]);
      const askedFor = (who: string, times: number): Promise<void> =>
        vi.waitFor(() => expect(asked(mirror, who)).toBe(times), { timeout: 20_000, interval: 50 });

      const first = register(mirror, student, '2026-03-10T07:00:00Z', '2026-03-10T12:00:00Z');
      await askedFor(student, 1);
      await vi.waitFor(
        async () => expect(await mirror.scheduleDifferences([...absent, student])).toEqual([]),
        { timeout: 20_000, interval: 200 },
      );
      const second = mirror.hub.district.replaceAbsence(first, {
        changes: { toTime: '2026-03-10T13:00:00Z' },
      });
      await askedFor(student, 2);
      mirror.hub.district.deleteAbsence(second);
      register(mirror, other, '2026-03-10T07:00:00Z', '2026-03-10T12:00:00Z');
      await askedFor(other, 1);
      expect([student, known, another].map((each) => asked(mirror, each))).toEqual([2, 1, 0]);
    });
  });
});

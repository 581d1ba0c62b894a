import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestHub } from './hub-client.ts';
import { startTestHub } from './hub-client.ts';

const PATH = '/api/core/schedules';
const WEEK = { from: '2026-11-16', to: '2026-11-20' };

interface Lesson {
  id: string;
  start: string;
  end: string;
  class: { sourcedId: string };
}

describe('schedules (spec 4.4)', () => {
  let test: TestHub;
  let student: string;
  beforeAll(async () => {
    test = await startTestHub({ students: 30 });
    student = test.hub.district.ids('students')[0]!;
  });
  afterAll(() => test[Symbol.asyncDispose]());
  const lessons = async (range: { from: string; to: string }): Promise<Lesson[]> =>
    (await test.get(PATH, { student, ...range })).rows as unknown as Lesson[];

  it('every lesson is within the range, in a class of the student and after the lesson before it', async () => {
    const week = await lessons(WEEK);
    expect(week).toHaveLength(30);
    const classes = test.hub.district
      .snapshot('enrollments')
      .filter((row) => (row['user'] as { sourcedId: string }).sourcedId === student)
      .map((row) => (row['class'] as { sourcedId: string }).sourcedId);
    for (const [index, lesson] of week.entries()) {
      expect(classes).toContain(lesson.class.sourcedId);
      expect(lesson.start >= '2026-11-16T07:30' && lesson.end <= '2026-11-20T14').toBe(true);
      expect(lesson.start >= (week[index - 1]?.end ?? '')).toBe(true);
    }
  });

  it('days add up to the range, weekends have no lessons, and local times stay the same in summer', async () => {
    const monday = await lessons({ from: '2026-11-16', to: '2026-11-16' });
    const rest = await lessons({ from: '2026-11-17', to: '2026-11-22' });
    expect([...monday, ...rest]).toEqual(await lessons(WEEK));
    const summer = await lessons({ from: '2026-09-07', to: '2026-09-07' });
    expect([monday[0]?.start.slice(11), summer[0]?.start.slice(11)]).toEqual([
      '07:30:00.000Z',
      '06:30:00.000Z',
    ]);
  });

  it('1.1: an absence from a class overlaps a lesson of that class', async () => {
    const { district } = test.hub;
    const absences = district.snapshot('absences').filter((row) => row['classesAffected'] !== undefined);
    expect(absences.length).toBeGreaterThan(20);
    for (const absence of absences.slice(0, 100)) {
      const from = absence['fromTime'] as string;
      const day = from.slice(0, 10);
      const absent = (absence['student'] as { sourcedId: string }).sourcedId;
      const found = (await test.get(PATH, { student: absent, from: day, to: day }))
        .rows as unknown as Lesson[];
      const overlapping = found.filter(
        (lesson) => lesson.start < (absence['toTime'] as string) && lesson.end > from,
      );
      expect(overlapping.map((lesson) => lesson.class.sourcedId)).toEqual([
        (absence['classesAffected'] as { sourcedId: string }).sourcedId,
      ]);
    }
  });

  it.each([{}, { student: 'x' }, { student: 'x', from: '2026-11-16' }, { student: 'x', from: 'a', to: 'b' }])(
    '%o is refused',
    async (parameters) => {
      expect((await test.get(PATH, parameters as Record<string, string>)).status).toBe(400);
    },
  );

  it('a lesson can be changed, hidden and restored', async () => {
    const [lesson] = await lessons(WEEK);
    test.hub.district.changeLesson(lesson!.id, { cancelled: true, rooms: ['Gymsalen'] });
    expect((await lessons(WEEK))[0]).toMatchObject({ id: lesson!.id, cancelled: true, rooms: ['Gymsalen'] });
    test.hub.district.changeLesson(lesson!.id, null);
    expect(await lessons(WEEK)).toHaveLength(29);
    test.hub.district.changeLesson(lesson!.id, undefined);
    expect((await lessons(WEEK))[0]).toEqual(lesson);
  });

  it('one student can be refused while the others are answered', async () => {
    const [one, other] = test.hub.district.ids('students');
    test.hub.faults.set(`schedules-status=403:x,${one}`);
    expect((await test.get(PATH, { student: one!, ...WEEK })).status).toBe(403);
    expect((await test.get(PATH, { student: other!, ...WEEK })).status).toBe(200);
    test.hub.faults.clear();
    expect(await lessons(WEEK)).toEqual(test.hub.district.lessons({ student: student, ...WEEK }));
  });

  it('every shape gives all lessons over its pages', async () => {
    const range = { from: '2026-11-02', to: '2026-11-20' };
    const all = await lessons(range);
    expect(all.length).toBeGreaterThan(50);
    for (const shape of ['schedules', 'odata']) {
      test.hub.faults.set('schedules-shape', { value: shape });
      const seen: unknown[] = [];
      let page = await test.get(PATH, { student, ...range });
      for (;;) {
        const body = page.body as {
          schedules?: unknown[];
          value?: unknown[];
          '@odata.nextLink'?: string;
        };
        seen.push(...(body.schedules ?? body.value ?? []));
        const next = body['@odata.nextLink'];
        if (next === undefined) break;
        page = await test.getUrl(next);
      }
      expect(seen).toEqual(all);
    }
    test.hub.faults.set('schedules-to-exclusive');
    test.hub.faults.clear('schedules-shape');
    expect(await lessons(WEEK)).toHaveLength(24);
    test.hub.faults.clear();
  });
});

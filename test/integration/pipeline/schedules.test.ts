import { describe, expect, it } from 'vitest';
import { dayAfter, dayKey, hubDays } from '../support/schedule-oracle.ts';
import { textIn } from '../support/rows.ts';
import type { TopicRecord } from '../support/topic-reader.ts';
import { openScheduleMirror, type ScheduleMirror } from './schedule-mirror.ts';

const NO_GUARD = { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } };

/** Keys and the kind of their records, in the order of the keys. */
function brief(records: readonly TopicRecord[]): string[] {
  return records
    .map(({ key, value, headers }) => {
      const kind = headers['ce_type']?.split('.').at(-1);
      const count = value === null ? '' : ` ${(value['lessons'] as unknown[] | undefined)?.length}`;
      return `${key} ${kind}${count}`;
    })
    .toSorted();
}

const lessonsOf = (mirror: ScheduleMirror, student: string, date: string) =>
  mirror.hub.district.lessons({ student, from: date, to: date });

/** Removes all lessons of a student's day, and so those of the whole class; returns a function that puts them back. */
function hideDay(mirror: ScheduleMirror, student: string, date: string): () => void {
  const lessons = lessonsOf(mirror, student, date);
  const change = (to: null | undefined): void => {
    for (const lesson of lessons) mirror.hub.district.changeLesson(textIn(lesson, 'id'), to);
  };
  change(null);
  return () => change(undefined);
}

/** One student of each class: these students share no lesson. */
function oneOfEachClass(mirror: ScheduleMirror): string[] {
  const { district } = mirror.hub;
  const found = new Map<string, string>();
  for (const student of district.ids('students')) {
    const [lesson] = lessonsOf(mirror, student, '2026-03-10');
    const first = textIn(lesson, 'id');
    if (!found.has(first)) found.set(first, student);
  }
  return [...found.values()];
}

describe('the first load', () => {
  it('publishes each day with lessons of each wanted student, and no other', async () => {
    await using mirror = await openScheduleMirror({ students: 'all', daysBack: 7, daysAhead: 14 });
    const results = await mirror.full();
    const students = mirror.hub.district.ids('students');
    // The window is three weeks and a day, of which sixteen are school days.
    expect((await mirror.view('schedules')).size).toBe(students.length * 16);
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
    expect(results.get('schedules')).toMatchObject({ kind: 'complete', withheld: 0 });
    expect([...mirror.asked().values()]).toEqual(students.map(() => 1));
    expect((await mirror.records('schedules')).map(({ headers }) => headers['ce_type'])).toEqual(
      Array.from({ length: 160 }, () => 'rollcall.schedules.created'),
    );
  });

  it('records in progress the time of the hub and the offsets of the last records', async () => {
    const hourAhead = Date.parse('2026-03-10T10:30:00Z');
    await using mirror = await openScheduleMirror({
      students: 'all',
      hubOptions: { students: 10, startMs: hourAhead },
    });
    await mirror.full();
    const progress = (await mirror.view('progress')).get('schedules')?.value ?? {};
    const { startedAt, lastCompleteFull: full } = progress as {
      startedAt: number;
      lastCompleteFull: Record<string, unknown>;
    };
    expect(progress).toMatchObject({
      mode: 'FULL',
      complete: true,
      rowsWithheld: 0,
      timeZone: 'Europe/Oslo',
    });
    expect(full).toMatchObject({ rows: 50, rowsRejected: 0, rowsWithheld: 0, startedAt });
    // The header has whole seconds, and time has passed since the sync began.
    expect(startedAt).toBeGreaterThanOrEqual(hourAhead - 1_000);
    expect(startedAt).toBeLessThanOrEqual(mirror.hub.clock.now());
    const records = await mirror.records('schedules');
    for (const [name, offset] of Object.entries(full['offsets'] as Record<string, number>)) {
      const partition = Number(name.split('/')[1]);
      const last = records.findLast((record) => record.partition === partition);
      expect([name, last?.offset]).toEqual([name, offset]);
    }
  });

  it('is not published again after a restart, a re-stamp or a lost index', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const before = await mirror.ends();
    await mirror.restart();
    mirror.hub.district.restamp();
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
    await mirror.parts.state.collection('schedules').rebuild();
    await mirror.restart();
    await mirror.full();
    expect(await mirror.since(before)).toEqual([]);
    expect(await mirror.scheduleDifferences(mirror.hub.district.ids('students'))).toEqual([]);
  });

  it('distinguishes students whose ids have a bar or a percent sign', async () => {
    const odd = ['a|2026-03-10', 'a%7C2026-03-10', '%', 'ø &?#/', '*'];
    await using mirror = await openScheduleMirror({ students: odd, hubOptions: { students: 60 } });
    const { district } = mirror.hub;
    const models = oneOfEachClass(mirror);
    for (const [at, student] of odd.entries()) {
      const of = (row: Record<string, unknown>): boolean =>
        (row['user'] as { sourcedId: string }).sourcedId === models[at % models.length];
      for (const row of district.snapshot('enrollments').filter(of)) {
        const id = `${student} ${textIn(row, 'sourcedId')}`;
        district.put('enrollments', {
          ...row,
          sourcedId: id,
          user: { ...(row['user'] as object), sourcedId: student },
        });
      }
    }
    await mirror.full();
    expect((await mirror.view('schedules')).size).toBe(odd.length * 5);
    expect(await mirror.scheduleDifferences(odd)).toEqual([]);
    // A student who is looked up under a wrong key would be removed.
    const before = await mirror.ends();
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });
});

describe('a body', () => {
  it.each([
    { shape: 'array', requests: 1 },
    { shape: 'odata', requests: 4 },
  ])('of the shape $shape loses no lesson, not even on the last page', async ({ shape, requests }) => {
    await using mirror = await openScheduleMirror({ students: 'all', daysBack: 10, daysAhead: 34 });
    mirror.hub.faults.set(`schedules-shape=${shape}@schedules`);
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    // The window includes the change to summer time.
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
    expect([...mirror.asked().values()]).toEqual(students.map(() => requests));
    const before = await mirror.ends();
    mirror.hub.faults.clear();
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });

  it('has a complete last day even where the hub excludes the day of `to`', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    mirror.hub.faults.set('schedules-to-exclusive@schedules');
    await mirror.full();
    expect(await mirror.scheduleDifferences(mirror.hub.district.ids('students'))).toEqual([]);
  });

  it('of another shape is an error that names its fields, and empties no day', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.faults.set('schedules-shape=schedules@schedules');
    const [outcome] = await mirror.attempt('FULL', 'schedules');
    expect(outcome?.error).toMatchObject({
      code: 'HUB_LESSONS_UNREADABLE',
      message: expect.stringMatching(/Its fields: schedules$/) as string,
    });
    expect(await mirror.ends()).toEqual(before);
  });

  it('without the configured start is an error that names the fields and the setting, and publishes nothing', async () => {
    await using mirror = await openScheduleMirror({ students: 'all', fields: { start: 'begynner' } });
    const outcomes = await mirror.attempt('FULL');
    expect(outcomes.find(({ collection }) => collection === 'schedules')?.error).toMatchObject({
      code: 'HUB_LESSONS_UNREADABLE',
      message: expect.stringMatching(
        /`begynner`\. Its fields: cancelled, class, end, id, rooms, start, teachers, title$/,
      ) as string,
      remedy: expect.stringContaining('schedules.fields.start') as string,
    });
    expect(await mirror.records('schedules')).toEqual([]);
    expect((await mirror.view('rejects')).size).toBe(0);
  });

  it('is read by the configured name of each part, and by no other', async () => {
    await using mirror = await openScheduleMirror({
      students: 'all',
      fields: { title: 'emne.navn', rooms: 'steder.rom' },
    });
    const [student = ''] = mirror.hub.district.ids('students');
    const [lesson] = lessonsOf(mirror, student, '2026-03-11');
    mirror.hub.district.changeLesson(textIn(lesson, 'id'), {
      emne: { navn: 'Kunst' },
      steder: [{ rom: 'Naustet' }, { rom: 'Salen' }],
      end: 'when it rings',
    });
    await mirror.full();
    const value = (await mirror.view('schedules')).get(dayKey(student, '2026-03-11'))?.value;
    const [first, second] = (value?.['lessons'] ?? []) as Record<string, unknown>[];
    expect(first).toMatchObject({ title: 'Kunst', rooms: ['Naustet', 'Salen'], end: null });
    expect(first?.['raw']).toContain('when it rings');
    expect(second).toMatchObject({ title: null, rooms: null });
    expect(second?.['raw']).toContain('Rom ');
  });
});

describe('a day that changes', () => {
  it('is published, and its neighbours are not', async () => {
    await using mirror = await openScheduleMirror({ students: 'all', hubOptions: { students: 60 } });
    await mirror.full();
    const [student = ''] = oneOfEachClass(mirror);
    const before = await mirror.ends();
    const [, lesson] = lessonsOf(mirror, student, '2026-03-12');
    mirror.hub.district.changeLesson(textIn(lesson, 'id'), { rooms: ['Gymsalen'], cancelled: true });
    await mirror.full('schedules');
    const published = await mirror.since(before);
    const students = mirror.hub.district.ids('students');
    const sameClass = students.filter((each) =>
      lessonsOf(mirror, each, '2026-03-12').some(({ id }) => id === lesson?.['id']),
    );
    expect(sameClass.length).toBeLessThan(students.length);
    expect(brief(published)).toEqual(
      sameClass.map((each) => `${dayKey(each, '2026-03-12')} updated 6`).toSorted(),
    );
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
  });

  it('is published when it gets its first lessons', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    const [student = ''] = mirror.hub.district.ids('students');
    const giveBack = hideDay(mirror, student, '2026-03-12');
    await mirror.full();
    expect((await mirror.view('schedules')).has(dayKey(student, '2026-03-12'))).toBe(false);
    const before = await mirror.ends();
    giveBack();
    await mirror.full('schedules');
    expect(brief(await mirror.since(before))).toContain(`${dayKey(student, '2026-03-12')} created 6`);
  });
});

describe('a day that loses its lessons', () => {
  it('is published as empty after a second answer, and not removed', async () => {
    await using mirror = await openScheduleMirror({ students: [], hubOptions: { students: 60 } });
    const students = oneOfEachClass(mirror);
    await using few = await openScheduleMirror({
      students,
      hub: mirror.hub,
      topicPrefix: mirror.topicPrefix,
    });
    const [student = '', ...others] = students;
    expect(others.length).toBeGreaterThan(0);
    await few.full();
    few.asked();
    const before = await few.ends();
    const key = dayKey(student, '2026-03-12');
    const giveBack = hideDay(few, student, '2026-03-12');
    await few.full();
    expect(brief(await few.since(before))).toEqual([`${key} updated 0`]);
    expect(few.asked()).toEqual(new Map([[student, 2], ...others.map((each) => [each, 1] as const)]));
    const becameEmpty = await few.ends();
    await few.restart();
    await few.full();
    expect(await few.ends()).toEqual(becameEmpty);
    expect(await few.scheduleDifferences(students, [key])).toEqual([]);
    giveBack();
    await few.full();
    expect(brief(await few.since(becameEmpty))).toEqual([`${key} updated 6`]);
  });

  it('is withheld together with many others, while other changes are published', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    const [student = ''] = students;
    const days = ['2026-03-11', '2026-03-12', '2026-03-13'];
    const back = days.map((day) => hideDay(mirror, student, day));
    const [lesson] = lessonsOf(mirror, student, '2026-03-10');
    mirror.hub.district.changeLesson(textIn(lesson, 'id'), { rooms: ['Gymsalen'] });
    const before = await mirror.ends();
    for (const round of [1, 2]) {
      const result = (await mirror.full('schedules')).get('schedules');
      expect([round, result]).toMatchObject([round, { kind: 'complete', withheld: 30 }]);
    }
    expect(brief(await mirror.since(before))).toEqual(
      students.map((each) => `${dayKey(each, '2026-03-10')} updated 6`).toSorted(),
    );
    const progress = (await mirror.view('progress')).get('schedules')?.value;
    expect(progress).toMatchObject({ rowsWithheld: 30, lastCompleteFull: { rowsWithheld: 30 } });
    expect(await mirror.metricsText()).toMatch(/rollcall_deletions_withheld\{[^}]*"schedules"\} 30/);
    await mirror.restart();
    expect((await mirror.full('schedules')).get('schedules')).toMatchObject({ withheld: 30 });
    const held = await mirror.ends();
    for (const giveBack of back) giveBack();
    expect((await mirror.full('schedules')).get('schedules')).toMatchObject({ withheld: 0 });
    expect(await mirror.ends()).toEqual(held);
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
  });

  it('is withheld together with all others, as when rights were lost', async () => {
    await using mirror = await openScheduleMirror({ students: 'all', settings: NO_GUARD });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.faults.set('empty-list@schedules');
    for (let round = 1; round <= 3; round += 1) {
      const result = (await mirror.full('schedules')).get('schedules');
      expect([round, result]).toMatchObject([round, { withheld: 50 }]);
    }
    expect(await mirror.ends()).toEqual(before);
    mirror.hub.faults.clear();
    expect((await mirror.full('schedules')).get('schedules')).toMatchObject({ withheld: 0 });
    expect(await mirror.ends()).toEqual(before);
  });

  it('is withheld together with many others, while other collections are not', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    mirror.hub.faults.set('empty-list@schedules');
    expect((await mirror.full('schedules')).get('schedules')).toMatchObject({ withheld: 50 });
    const [student = ''] = mirror.hub.district.ids('students');
    mirror.hub.district.remove('users', student);
    expect((await mirror.full('students')).get('students')).toMatchObject({ withheld: 0 });
    expect((await mirror.view('students')).has(student)).toBe(false);
  });
});

describe('a window that moves on', () => {
  it('removes the days that it leaves, and the guard withholds none', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    const before = await mirror.ends();
    const gone = mirror.window().from;
    mirror.advanceDays(1);
    const { from, to } = mirror.window();
    expect([from, to]).toEqual([dayAfter(gone, 1), '2026-03-14']);
    expect((await mirror.full('schedules')).get('schedules')).toMatchObject({
      kind: 'complete',
      withheld: 0,
      stats: { rowsRemoved: students.length },
    });
    // The day that entered the window is a Saturday.
    expect(brief(await mirror.since(before))).toEqual(
      students.map((each) => `${dayKey(each, gone)} deleted`).toSorted(),
    );
    mirror.advanceDays(3);
    await mirror.full('schedules');
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
    expect(hubDays(mirror.hub, students, mirror.window()).size).toBe(students.length * 3);
    // The window moves past all known days.
    mirror.advanceDays(30);
    expect((await mirror.full('schedules')).get('schedules')).toMatchObject({ withheld: 0 });
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
  });

  it('removes empty days that it leaves', async () => {
    await using mirror = await openScheduleMirror({ students: 'all', settings: NO_GUARD });
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    hideDay(mirror, students[0] ?? '', '2026-03-10');
    await mirror.full('schedules');
    const becameEmpty = students.map((each) => dayKey(each, '2026-03-10'));
    expect(await mirror.scheduleDifferences(students, becameEmpty)).toEqual([]);
    mirror.advanceDays(2);
    await mirror.full('schedules');
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
  });
});

describe('a student who is no longer wanted', () => {
  it('loses all days and is not asked for', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    mirror.asked();
    const students = mirror.hub.district.ids('students');
    const wanted = students.slice(0, 3);
    const { hub, topicPrefix } = mirror;
    await using few = await openScheduleMirror({ students: wanted, hub, topicPrefix });
    const result = (await few.full()).get('schedules');
    expect(result).toMatchObject({ kind: 'complete', withheld: 0, stats: { rowsRemoved: 35 } });
    expect(await few.scheduleDifferences(wanted)).toEqual([]);
    expect([...few.asked().keys()].toSorted()).toEqual(wanted.toSorted());
  });

  it('loses all days when the reason is that the student left the hub', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const [student = '', ...others] = mirror.hub.district.ids('students');
    mirror.hub.district.remove('users', student);
    await mirror.full();
    expect(await mirror.scheduleDifferences(others)).toEqual([]);
  });
});

describe('lessons that cannot be published', () => {
  it('are rejected: their day stays as it was, and other days of the student are published', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    const [student = ''] = students;
    const [lesson] = lessonsOf(mirror, student, '2026-03-12');
    const [other] = lessonsOf(mirror, student, '2026-03-11');
    const id = textIn(lesson, 'id');
    mirror.hub.district.changeLesson(id, { note: 'x'.repeat(460_000) });
    mirror.hub.district.changeLesson(textIn(other, 'id'), { rooms: ['Gymsalen'] });
    const before = await mirror.ends();
    const result = (await mirror.full('schedules')).get('schedules');
    expect(result).toMatchObject({ kind: 'complete', stats: { rowsRejected: 10 } });
    const rejected = (await mirror.view('rejects')).get(`schedules|${student}%7C2026-03-12`)?.value;
    expect(rejected).toMatchObject({
      collection: 'schedules',
      reason: 'the day is too large for a record',
      row: expect.stringContaining(id) as string,
    });
    const published = brief((await mirror.since(before)).filter(({ topic }) => !topic.endsWith('.rejects')));
    expect(published).toEqual(students.map((each) => `${dayKey(each, '2026-03-11')} updated 6`).toSorted());
    expect((await mirror.view('schedules')).has(dayKey(student, '2026-03-12'))).toBe(true);
    const held = await mirror.ends();
    await mirror.restart();
    await mirror.full('schedules');
    expect(await mirror.ends()).toEqual(held);
    mirror.hub.district.changeLesson(id, undefined);
    await mirror.full('schedules');
    expect((await mirror.view('rejects')).size).toBe(0);
    expect(await mirror.scheduleDifferences(students)).toEqual([]);
  });

  it('are rejected when they have no day, and no day changes', async () => {
    await using mirror = await openScheduleMirror({ students: 'all' });
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    const [lesson] = lessonsOf(mirror, students[0] ?? '', '2026-03-12');
    mirror.hub.district.changeLesson(textIn(lesson, 'id'), { start: 'soon' });
    const before = await mirror.ends();
    await mirror.full('schedules');
    const since = await mirror.since(before);
    expect(since.map(({ key }) => key).toSorted()).toEqual(
      students.map((each) => `schedules|${each}%7C*`).toSorted(),
    );
    mirror.hub.district.changeLesson(textIn(lesson, 'id'), undefined);
    await mirror.full('schedules');
    expect((await mirror.view('rejects')).size).toBe(0);
  });
});

describe('students whom the hub refuses', () => {
  it.each([404, 400, 403])(
    'keep their known days, and the sync continues for the others: HTTP %i',
    async (status) => {
      await using mirror = await openScheduleMirror({ students: 'all' });
      await mirror.full();
      const students = mirror.hub.district.ids('students');
      const refused = students[1] ?? '';
      mirror.hub.faults.set(`schedules-status=${status}:${refused}@schedules`);
      const [lesson] = lessonsOf(mirror, refused, '2026-03-12');
      mirror.hub.district.changeLesson(textIn(lesson, 'id'), { rooms: ['Gymsalen'] });
      const before = await mirror.ends();
      expect((await mirror.full('schedules')).get('schedules')).toMatchObject({ kind: 'complete' });
      const others = students.filter((each) => each !== refused);
      expect(brief((await mirror.since(before)).filter(({ topic }) => !topic.endsWith('.rejects')))).toEqual(
        others.map((each) => `${dayKey(each, '2026-03-12')} updated 6`).toSorted(),
      );
      expect((await mirror.view('schedules')).has(dayKey(refused, '2026-03-12'))).toBe(true);
      const { reason } = (await mirror.view('rejects')).get(`schedules|${refused}%7C*`)?.value ?? {};
      expect(reason).toContain(`HTTP ${status}`);
      mirror.hub.faults.clear();
      await mirror.full('schedules');
      expect((await mirror.view('rejects')).size).toBe(0);
      expect(await mirror.scheduleDifferences(students)).toEqual([]);
    },
  );
});

describe('a hub without the Core API', () => {
  it('fails no other collection, and is not asked for every student', async () => {
    await using mirror = await openScheduleMirror({ students: 'all', hubOptions: { students: 60 } });
    mirror.hub.faults.set('not-offered@schedules');
    const outcomes = await mirror.attempt('FULL');
    const errorOf = (name: string) => outcomes.find(({ collection }) => collection === name)?.error;
    expect(errorOf('students')).toBeNull();
    expect(errorOf('schedules')).toMatchObject({ code: 'HUB_NOT_OFFERED' });
    expect(mirror.asked().size).toBeLessThan(20);
    expect(mirror.session.runners.get('schedules')?.isNotOffered).toBe(true);
    mirror.hub.faults.clear();
    await mirror.full('schedules');
    expect(mirror.session.runners.get('schedules')?.isNotOffered).toBe(false);
    expect(await mirror.scheduleDifferences(mirror.hub.district.ids('students'))).toEqual([]);
  });
});

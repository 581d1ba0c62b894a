import { beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { deleteTopicsOf, withAdmin } from '../../pipeline/kafka-admin.ts';
import { openScheduleMirror, type ScheduleMirror } from '../../pipeline/schedule-mirror.ts';
import { only } from '../../support/only.ts';
import { textIn } from '../../support/rows.ts';
import { absentStudents } from '../../support/schedule-oracle.ts';
import type { TopicRecord } from '../../support/topic-reader.ts';
import { buildJoin, JoinProcess } from './join-process.ts';
import { expectedTable, repetitions, tableOf } from './joined-table.ts';

const IS_FULL = process.env['ROLLCALL_JOIN'] === 'full';
const STUDENTS = IS_FULL ? 500 : 60;
const ROUNDS = IS_FULL ? 40 : 3;
const GIVE_UP_AFTER_MS = 180_000;
const MINUTE_MS = 60_000;
const COLLECTIONS = only({
  schedules: {},
  classes: {},
  'absence-versions': {},
  absences: {},
  'absence-changes': {},
});
const LENIENT = { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } };

function openDistrict(): Promise<ScheduleMirror> {
  return openScheduleMirror({
    students: 'absent',
    daysBack: 7,
    daysAhead: 7,
    collections: COLLECTIONS,
    settings: LENIENT,
    hubOptions: { students: STUDENTS },
  });
}

const output = (mirror: ScheduleMirror): Promise<TopicRecord[]> => mirror.records('absence-lessons');

async function expectedNow(mirror: ScheduleMirror): Promise<Map<string, object>> {
  const [absences, schedules, classes, progress] = await Promise.all([
    mirror.view('absences'),
    mirror.view('schedules'),
    mirror.view('classes'),
    mirror.view('progress'),
  ]);
  return expectedTable({ absences, schedules, classes, progress });
}

/** Waits until the join has caught up: its table is what the function makes of the topics. */
async function expectJoined(mirror: ScheduleMirror, ...joins: JoinProcess[]): Promise<Map<string, object>> {
  const expected = await expectedNow(mirror);
  const wanted = textOf(expected);
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
  while (performance.now() < giveUpAtMs) {
    for (const join of joins) join.expectAlive();
    if (textOf(tableOf(await output(mirror))) === wanted) return expected;
    await delay(200);
  }
  console.error(joins.map((join) => join.said()).join('\n'));
  expect(tableOf(await output(mirror))).toEqual(expected);
  return expected;
}

function textOf(table: ReadonlyMap<string, object>): string {
  return JSON.stringify([...table].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Absences come, are corrected and withdrawn; of absent students lessons and of a class the title change. */
async function liveOn(mirror: ScheduleMirror, round: number): Promise<void> {
  const { district, clock, living } = mirror.hub;
  clock.advance(MINUTE_MS);
  living.step(10);
  const students = district.ids('students');
  const student = students[round % students.length] ?? '';
  const absence = { student, fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-11T11:00:00Z' };
  const stays = district.registerAbsence(absence);
  const withdrawn = district.registerAbsence(absence);
  await mirror.delta();
  district.replaceAbsence(stays, { changes: { toTime: '2026-03-10T10:30:00Z' } });
  district.deleteAbsence(withdrawn);
  const lessons = [...absentStudents(mirror.hub, mirror.window())].flatMap((each) =>
    district.lessons({ student: each, from: '2026-03-10', to: '2026-03-11' }),
  );
  for (const lesson of lessons.filter((_, at) => at % 7 === round % 7).slice(0, 10)) {
    district.changeLesson(textIn(lesson, 'id'), { title: `Moved ${round}`, end: lesson['start'] });
  }
  const classId = district.ids('classes')[round] ?? '';
  district.patch('classes', classId, { title: `Renamed ${round}` });
  clock.advance(MINUTE_MS);
  await mirror.delta('absence-versions', 'classes');
  await mirror.full('schedules');
}

function lessonCount(table: ReadonlyMap<string, object>): number {
  return [...table.values()].reduce(
    (sum, value) => sum + (value as { lessons: unknown[] }).lessons.length,
    0,
  );
}

describe('examples/streams-join', () => {
  beforeAll(buildJoin, 600_000);

  it('two instances share the work, one is killed, and a new one begins from nothing: the table equals the function, and each change comes once', async () => {
    await using mirror = await openDistrict();
    const topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
    const applicationId = `${topics}.join`;
    try {
      await mirror.full();
      await using first = await JoinProcess.start({ topics, applicationId });
      await using second = await JoinProcess.start({ topics, applicationId });
      const begun = await expectJoined(mirror, first, second);
      expect(begun.size).toBeGreaterThan(10);
      expect(lessonCount(begun)).toBeGreaterThan(10);
      for (let round = 0; round < ROUNDS; round += 1) await liveOn(mirror, round);
      await first.kill('SIGKILL');
      await liveOn(mirror, ROUNDS);
      await expectJoined(mirror, second);
      expect(repetitions(await output(mirror))).toEqual([]);

      expect(await second.kill('SIGTERM')).toBe(143);
      await liveOn(mirror, ROUNDS + 1);
      await withAdmin((admin) => admin.deleteTopics({ topics: [mirror.topic('absence-lessons')] }));
      await using third = await JoinProcess.start({ topics, applicationId: `${applicationId}-2` });
      const last = await expectJoined(mirror, third);
      expect(lessonCount(last)).toBeGreaterThan(lessonCount(begun));
      expect(repetitions(await output(mirror))).toEqual([]);
    } finally {
      await deleteTopicsOf(topics);
    }
  });
});

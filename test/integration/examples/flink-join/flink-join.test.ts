import { beforeAll, describe, expect, it } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  lessonsOf,
  scheduleKeys,
  type Absence,
  type Lesson,
  type Reference,
} from '../../../../examples/absence-lessons/absence-lessons.ts';
import { createTopic } from '../../pipeline/kafka-admin.ts';
import { openScheduleMirror, type ScheduleMirror } from '../../pipeline/schedule-mirror.ts';
import { only } from '../../support/only.ts';
import { textIn } from '../../support/rows.ts';
import { absentStudents } from '../../support/schedule-oracle.ts';
import { buildFlinkJoin, startFlinkJoin, type FlinkProcess } from './flink-process.ts';

const OUTPUT = 'joined-by-flink';
const GIVE_UP_AFTER_MS = 180_000;
const MINUTE_MS = 60_000;

type Values = Readonly<Record<string, unknown>>;

async function valuesOf(mirror: ScheduleMirror, suffix: string): Promise<Map<string, Values>> {
  const values = new Map<string, Values>();
  for (const [key, { value }] of await mirror.view(suffix)) if (value !== null) values.set(key, value);
  return values;
}

/** What the topic must hold according to examples/absence-lessons, one text for each absence. */
async function expectedTable(mirror: ScheduleMirror): Promise<string[]> {
  const [absences, schedules, classes, progress] = await Promise.all(
    ['absences', 'schedules', 'classes', 'progress'].map((suffix) => valuesOf(mirror, suffix)),
  );
  const zone = String(progress?.get('schedules')?.['timeZone']);
  const rows = [...(absences ?? [])].map(([absenceId, value]) => {
    const absence = value as unknown as Absence;
    const days = scheduleKeys(absence, zone).flatMap((key) => {
      const day = schedules?.get(key);
      return day === undefined ? [] : [day as unknown as { lessons: Lesson[] }];
    });
    const classId = absence.classesAffected?.sourcedId ?? null;
    const title = classes?.get(classId ?? '')?.['title'] ?? null;
    const { fromTime, toTime, student } = absence;
    return rowOf(
      [absenceId, value['sourcedId'], student?.sourcedId, fromTime, toTime, classId, title],
      [...lessonsOf(absence, days)],
    );
  });
  return rows.toSorted();
}

/** What the topic holds, in the same form. */
async function joinedTable(mirror: ScheduleMirror): Promise<string[]> {
  const rows = [...(await valuesOf(mirror, OUTPUT))].map(([key, value]) =>
    rowOf(
      [
        key,
        ...['version', 'student', 'from_time', 'to_time', 'class_id', 'class_title'].map(
          (name) => value[name],
        ),
      ],
      (value['lessons'] as Lesson[] | null) ?? [],
    ),
  );
  return rows.toSorted();
}

function rowOf(fields: readonly unknown[], lessons: readonly Lesson[]): string {
  const touched = lessons.map(({ id, start, end }) => `${start}-${end} ${id}`).toSorted();
  return JSON.stringify([...fields.map((field) => field ?? null), touched]);
}

/** Waits until Flink has caught up. */
async function expectJoined(mirror: ScheduleMirror, flink: FlinkProcess): Promise<string[]> {
  const expected = await expectedTable(mirror);
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
  while (performance.now() < giveUpAtMs) {
    flink.expectAlive();
    const joined = await joinedTable(mirror);
    if (JSON.stringify(joined) === JSON.stringify(expected)) return expected;
    await delay(500);
  }
  expect(await joinedTable(mirror)).toEqual(expected);
  return expected;
}

/** An absence of one class over several days, and one between two lessons, the second of which it touches. */
function registerEdges(mirror: ScheduleMirror, student: string): void {
  const { district } = mirror.hub;
  const [first, second] = district.lessons({ student, from: '2026-03-11', to: '2026-03-11' });
  const [{ sourcedId: classId } = { sourcedId: '' }] = (first?.['classes'] ?? []) as unknown as Reference[];
  const days = { fromTime: '2026-03-09T23:00:00Z', toTime: '2026-03-13T22:00:00Z' };
  district.registerAbsence({ student, classId, ...days });
  district.registerAbsence({ student, fromTime: textIn(first, 'end'), toTime: textIn(second, 'end') });
}

/** An absence comes and is corrected, another is withdrawn, lessons move and are cancelled, a class gets another title. */
async function liveOn(mirror: ScheduleMirror, round: number): Promise<void> {
  const { district, clock, living } = mirror.hub;
  clock.advance(MINUTE_MS);
  living.step(10);
  const students = district.ids('students');
  const student = students[round] ?? '';
  const absence = { student, fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-11T11:00:00Z' };
  const stays = district.registerAbsence(absence);
  const withdrawn = district.registerAbsence(absence);
  registerEdges(mirror, student);
  await mirror.delta();
  district.replaceAbsence(stays, { changes: { toTime: '2026-03-10T10:30:00Z' } });
  district.deleteAbsence(withdrawn);
  const absent = [...absentStudents(mirror.hub, mirror.window())];
  const lessons = absent.flatMap((each) =>
    district.lessons({ student: each, from: '2026-03-10', to: '2026-03-10' }),
  );
  lessons.slice(0, 4).forEach((lesson, at) => {
    const moved = { title: `Moved ${round}`, end: lesson['start'] };
    district.changeLesson(textIn(lesson, 'id'), at % 2 === 0 ? null : moved);
  });
  for (const id of district.ids('classes')) district.patch('classes', id, { title: `Renamed ${round}` });
  clock.advance(MINUTE_MS);
  await mirror.delta('absence-versions', 'classes');
  await mirror.full('schedules');
}

describe('examples/flink-join', () => {
  beforeAll(buildFlinkJoin, 600_000);

  it("Flink's own connectors read the topics: its table equals the function in TypeScript, also after corrections, withdrawals and changed lessons, amid which it is killed", async () => {
    await using mirror = await openScheduleMirror({
      students: 'absent',
      daysBack: 7,
      daysAhead: 7,
      collections: only({
        schedules: {},
        classes: {},
        'absence-versions': {},
        absences: {},
        'absence-changes': {},
      }),
      settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } },
      hubOptions: { students: 40 },
    });
    const topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
    const output = mirror.topic(OUTPUT);
    const compacted = [{ name: 'cleanup.policy', value: 'compact' }];
    await createTopic({ topic: output, numPartitions: 3, configEntries: compacted });
    await mirror.full();
    const checkpoints = mkdtempSync(join(tmpdir(), 'rollcall-flink-'));
    try {
      {
        await using flink = await startFlinkJoin({ topics, output, checkpoints });
        const first = await expectJoined(mirror, flink);
        expect(first.filter((row) => !row.endsWith('[]]')).length).toBeGreaterThan(5);
        const living = liveOn(mirror, 0);
        await flink.kill();
        await living;
      }
      await using again = await startFlinkJoin({ topics, output, checkpoints });
      await expectJoined(mirror, again);
      const before = await expectedTable(mirror);
      await liveOn(mirror, 1);
      expect(await expectJoined(mirror, again)).not.toEqual(before);
    } finally {
      rmSync(checkpoints, { recursive: true, force: true });
    }
  });
});

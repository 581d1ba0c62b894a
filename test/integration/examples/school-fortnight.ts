import type { Reference } from '../../../examples/absence-lessons/absence-lessons.ts';
import { openScheduleMirror, DAY_MS, type ScheduleMirror } from '../pipeline/schedule-mirror.ts';
import { TERM_MORNING_MS } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { absentStudents, osloDate } from '../support/schedule-oracle.ts';

interface SchoolLesson {
  readonly id: string;
  readonly start: string;
  readonly end: string;
  readonly class: Reference;
}

/** A Tuesday: the clocks of Oslo go back in the night to the Sunday after, 25 October 2026, at 01:00 UTC. */
const BEGIN_MS = Date.parse('2026-10-20T07:30:00.000Z');
const HOUR_MS = 3_600_000;
/** Each day another day of past absences leaves the topic. */
const DAYS = { daysBack: 7, daysAhead: 7 };

/** A school at the beginning of a fortnight, mirrored into the real Kafka. */
export async function openSchool(students: number): Promise<ScheduleMirror> {
  const mirror = await openScheduleMirror({
    students: 'absent',
    ...DAYS,
    collections: only({
      schedules: {},
      classes: {},
      'absence-versions': {},
      absences: {},
      'absence-changes': {},
    }),
    settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } },
    hubOptions: { students, startMs: BEGIN_MS },
  });
  mirror.advanceDays((BEGIN_MS - TERM_MORNING_MS) / DAY_MS);
  return mirror;
}

/** Goes on to the next morning. */
export function nextDay(mirror: ScheduleMirror): void {
  mirror.advanceDays(1);
  mirror.hub.clock.advance(DAY_MS);
}

/**
 * One day of the school: absences come, are corrected and withdrawn, among them every kind that the rule has a word
 * for; lessons move, are hidden and come back; a class gets another title. The lessons are read after the absences.
 */
export async function liveDay(mirror: ScheduleMirror, { changes }: { changes: number }): Promise<void> {
  const { clock, living } = mirror.hub;
  living.step(changes);
  const correct = registerEdges(mirror);
  await mirror.delta();
  correct();
  changeLessons(mirror);
  living.step(changes);
  clock.advance(60_000);
  await mirror.delta('absence-versions', 'classes');
  // Students whom those absences make wanted are looked up first.
  await mirror.delta('schedules');
  await mirror.full('schedules');
}

function today(mirror: ScheduleMirror): string {
  return osloDate(mirror.hub.clock.now());
}

function lessonsOn(mirror: ScheduleMirror, student: string, date: string): SchoolLesson[] {
  return mirror.hub.district.lessons({ student, from: date, to: date }) as unknown as SchoolLesson[];
}

/** A student who is at school today, another one each day; none on a day off. */
function studentOfDay(mirror: ScheduleMirror): { student: string; lessons: SchoolLesson[] } | undefined {
  const students = mirror.hub.district.ids('students');
  const date = today(mirror);
  const first = Math.floor(Date.parse(date) / DAY_MS) % students.length;
  return [...students.slice(first), ...students.slice(0, first)]
    .map((student) => ({ student, lessons: lessonsOn(mirror, student, date) }))
    .find(({ lessons }) => lessons.length > 3);
}

function at(text: string, hours: number): string {
  return new Date(Date.parse(text) + hours * HOUR_MS).toISOString();
}

/** Registers every kind of absence that the rule has a word for; returns what corrects one and withdraws another. */
function registerEdges(mirror: ScheduleMirror): () => void {
  const { district } = mirror.hub;
  const found = studentOfDay(mirror);
  const [first, second, third] = found?.lessons ?? [];
  if (found === undefined || first === undefined || second === undefined || third === undefined)
    return () => undefined;
  const { student } = found;
  const register = (fromTime: string, toTime: string, classId?: string): string =>
    district.registerAbsence({ student, fromTime, toTime, ...(classId === undefined ? {} : { classId }) });
  const classId = first.class.sourcedId;
  // From the end of a lesson to the beginning of another: it touches neither.
  register(first.end, second.start);
  // Several days, most of them ahead; over a Saturday and the night in which the clocks change, if today is before it.
  register(at(first.start, -24), at(first.start, 5 * 24));
  // A class that is taught today, one that is not taught in that time, and one that the hub does not have.
  register(at(first.start, -1), at(first.start, 23), classId);
  register(third.start, third.end, classId);
  register(first.start, third.end, 'no-such-class');
  // Without a real end.
  register(third.start, '9999-12-31T23:59:59.000Z');
  // A class that is taught twice.
  district.changeLesson(third.id, { class: { sourcedId: classId } });
  const stays = register(first.start, third.end);
  const withdrawn = register(first.start, first.end);
  return () => {
    district.replaceAbsence(stays, { changes: { toTime: at(first.start, 0.5) } });
    district.deleteAbsence(withdrawn);
  };
}

/** Of the absent, a lesson ends early, another is hidden, and the day's last one becomes a lesson of the night. */
function changeLessons(mirror: ScheduleMirror): void {
  const { district } = mirror.hub;
  const date = today(mirror);
  const absent = [...absentStudents(mirror.hub, { from: date, to: date })].slice(0, 8);
  for (const [place, student] of absent.entries()) {
    const lessons = lessonsOn(mirror, student, date);
    const [first, second] = lessons;
    const last = lessons.at(-1);
    if (first === undefined || second === undefined || last === undefined) continue;
    // From half past eleven at night, by the clock, until one and a half hours later.
    const night = at(`${date}T00:00:00Z`, 21.5);
    const changes = [
      () => district.changeLesson(first.id, { title: `Moved on ${date}`, end: first.start }),
      () => district.changeLesson(second.id, null),
      () => district.changeLesson(last.id, { start: night, end: at(night, 1.5) }),
      () => district.changeLesson(second.id, undefined),
    ];
    changes[place % changes.length]?.();
  }
  const classes = district.ids('classes');
  const renamed = classes[Math.floor(Date.parse(date) / DAY_MS) % classes.length] ?? '';
  district.patch('classes', renamed, { title: `Renamed on ${date}` });
}

import type { TopicRecord } from '../../support/topic-reader.ts';
import { osloDate } from '../../support/schedule-oracle.ts';

interface JoinedLesson {
  readonly start: number;
  readonly end: number;
}

interface JoinedAbsence {
  readonly version: string;
  readonly student: string | null;
  readonly fromTime: number;
  readonly toTime: number;
  readonly classAffected: string | null;
  readonly lessons: readonly JoinedLesson[];
}

/** At 01:00 UTC the clocks of Oslo go back. */
const CLOCKS_CHANGE_MS = Date.parse('2026-10-25T01:00:00Z');
const NO_REAL_END_MS = Date.parse('9999-01-01');

/** What a history must hold to prove something of the rule, and whether a joined absence is such a case. */
const OF_ONE: Readonly<Record<string, (absence: JoinedAbsence) => boolean>> = {
  'a class that is taught': ({ classAffected, lessons }) => classAffected !== null && lessons.length > 0,
  'a class that is not taught then': ({ classAffected, lessons }) =>
    classAffected !== null && classAffected !== 'no-such-class' && lessons.length === 0,
  'a class that the hub does not have': ({ classAffected }) => classAffected === 'no-such-class',
  'a class that is taught twice a day': ({ classAffected, lessons }) =>
    classAffected !== null && daysOf(lessons).size < lessons.length,
  'several days': ({ lessons }) => daysOf(lessons).size > 2,
  'a lesson beyond midnight': ({ lessons }) =>
    lessons.some(({ start, end }) => osloDate(start) !== osloDate(end)),
  'no real end': ({ toTime, lessons }) => toTime > NO_REAL_END_MS && lessons.length > 0,
  'lessons on both sides of a change of the clocks': ({ lessons }) =>
    lessons.some(({ end }) => end < CLOCKS_CHANGE_MS) &&
    lessons.some(({ start }) => start > CLOCKS_CHANGE_MS),
};

function daysOf(lessons: readonly JoinedLesson[]): Set<string> {
  return new Set(lessons.map(({ start }) => osloDate(start)));
}

/** The same of two records of an absence, one after the other. */
const OF_TWO: Readonly<Record<string, (now: JoinedAbsence | null, before: JoinedAbsence) => boolean>> = {
  'lessons that come later than their absence': (now, before) =>
    now?.version === before.version && before.lessons.length === 0 && now.lessons.length > 0,
  'lessons that change': (now, before) =>
    now?.version === before.version && before.lessons.length > 0 && now.lessons.length > 0,
  'a corrected absence': (now, before) => now !== null && now.version !== before.version,
  'a withdrawn absence': (now) => now === null,
};

/**
 * Names the situations that no joined record shows, so that a history without them does not pass for a proof.
 *
 * @param joined all records of `absence-lessons`
 * @param schedules all records of `schedules`
 */
export function missingSituations(
  joined: readonly TopicRecord[],
  schedules: readonly TopicRecord[],
): string[] {
  const histories = [...Map.groupBy(joined, ({ key }) => key).values()].map((records) =>
    records.map(({ value }) => value as JoinedAbsence | null),
  );
  const values = histories.flat().filter((value) => value !== null);
  const pairs = histories.flatMap((history) =>
    history.slice(1).flatMap((now, at) => {
      const before = history[at] ?? null;
      return before === null ? [] : [{ now, before }];
    }),
  );
  const edges = edgesOf(schedules);
  const touchesAnEdge = ({ student, fromTime, toTime, lessons }: JoinedAbsence): boolean =>
    lessons.length === 0 &&
    edges.has(`${student} ends ${fromTime}`) &&
    edges.has(`${student} begins ${toTime}`);
  return [
    ...missingIn(OF_ONE, (isOne) => values.some((value) => isOne(value))),
    ...missingIn(OF_TWO, (isOne) => pairs.some(({ now, before }) => isOne(now, before))),
    ...missingIn(
      { 'an absence from the end of a lesson to the beginning of another': touchesAnEdge },
      (isOne) => values.some((value) => isOne(value)),
    ),
  ];
}

function missingIn<T>(situations: Readonly<Record<string, T>>, isThere: (situation: T) => boolean): string[] {
  return Object.entries(situations).flatMap(([name, situation]) => (isThere(situation) ? [] : [name]));
}

/** When a lesson of a student begins or ends, as texts. */
function edgesOf(schedules: readonly TopicRecord[]): Set<string> {
  const edges = new Set<string>();
  for (const { value } of schedules) {
    const { student, lessons = [] } = (value ?? {}) as {
      student?: string;
      lessons?: readonly JoinedLesson[];
    };
    for (const { start, end } of lessons)
      edges.add(`${student} begins ${start}`).add(`${student} ends ${end}`);
  }
  return edges;
}

import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import type { ScheduleOptions } from './schedule-mirror.ts';

const TEN_MINUTES_MS = 600_000;

/** The installation that upgrade-recording.json.gz holds: how it was configured. */
export const UPGRADED: ScheduleOptions = {
  students: 'absent',
  daysBack: 1,
  daysAhead: 1,
  topicPrefix: 'recorded',
  collections: ['students', 'courses', 'absence-versions', 'absences', 'absence-changes'],
  // The hub's clock stands still, so that its times are those of the recording.
  hubOptions: { students: 6, now: () => 0 },
};

/** Rejects, pending references and absences that begin, continue and end, after the first load. */
export function changeDistrict({ district, living, clock }: ReferenceHub): void {
  clock.advance(TEN_MINUTES_MS);
  living.step(30);
  const [student = ''] = district.ids('students');
  const times = { fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' };
  const first = district.registerAbsence({ student, ...times, id: 'absence-a' });
  district.replaceAbsence(first, { changes: { toTime: '2026-03-10T10:00:00Z' }, newId: 'absence-b' });
  district.registerAbsence({ student, ...times, id: 'absence-c' });
  district.patch('absence-versions', 'absence-c', { replaces: { sourcedId: 'never-there' } });
  const broken = district.ids('absence-versions')[0] ?? '';
  district.patch('absence-versions', broken, { fromTime: 'a quarter past nine' });
}

/** Most courses leave the hub, more than the guard lets go. */
export function emptyCourses({ district, clock }: ReferenceHub): void {
  clock.advance(TEN_MINUTES_MS);
  const courses = district.ids('courses').toSorted();
  for (const id of courses.slice(0, Math.ceil(courses.length * 0.8))) district.remove('courses', id);
}

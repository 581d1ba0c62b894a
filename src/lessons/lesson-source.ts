import { zoneClock } from '../core/zone-clock.ts';
import type { StudentDays } from '../core/lessons/read-days.ts';
import { collectionOf } from '../config/schedules.ts';
import { askedDays, isInWindow, windowAround, type DayWindow } from '../core/lessons/window.ts';
import { sourceOf } from '../model/collections.ts';
import { ALL, keyOfAll, splitCompositeKey } from '../model/keys.ts';
import { notTooDeep, type Source } from '../source/source.ts';
import type { OpenOptions, Reading, SourceEnd, SourcePage } from '../source/source-scan.ts';
import type { TenantSchedules } from '../table/tenant.ts';

export interface LessonSourceOptions extends TenantSchedules {
  readonly now: () => number;
  /** Students with a current absence that touches these days. */
  readonly absentIn: (window: DayWindow) => Promise<ReadonlySet<string>>;
  readonly allStudents: () => Promise<Iterable<string>>;
}

/** The lessons of students, day by day. A scope is a wanted student, and the scan of a scope gives the days of the window. */
export function lessonSource(options: LessonSourceOptions): Source {
  const { students, changedScopes, now, timeZone } = options;
  const parent = collectionOf(students);
  return {
    ...(parent === null ? {} : { parents: sourceOf(parent) }),
    changedScopes,
    scopeOf: (key) => splitCompositeKey(key)?.[0] ?? '',
    rejectKeyOf: keyOfAll,
    async begin(): Promise<Reading> {
      const window = windowAround(zoneClock(timeZone).dateAt(now()), options);
      const scopes = await wantedStudents(options, window);
      return {
        scopes,
        isOutside(key) {
          const [student, day] = splitCompositeKey(key) ?? ['', ''];
          return !scopes.has(student) || (day !== ALL && !isInWindow(day, window));
        },
        open: (student, scan) => readStudent(options, student, window, scan),
      };
    },
  };
}

/** Students with an absence in the window come first. */
async function wantedStudents(
  { students, absentIn, allStudents }: LessonSourceOptions,
  window: DayWindow,
): Promise<ReadonlySet<string>> {
  const absent = await absentIn(window);
  if (students === 'absent') return absent;
  const wanted = new Set(students === 'all' ? await allStudents() : students);
  return absent.intersection(wanted).union(wanted);
}

async function* readStudent(
  { readSchedule, reader }: LessonSourceOptions,
  student: string,
  window: DayWindow,
  options: OpenOptions,
): AsyncGenerator<SourcePage, SourceEnd> {
  const readVersion = options.readVersion();
  const { signal } = options;
  const { lessons, isUtf8, hubTimeMs } = await readSchedule({ student, ...askedDays(window), signal });
  const read = (): StudentDays => reader.read({ student, window, lessons, isUtf8 });
  const { rows, isUnread } = notTooDeep(read, 'schedules');
  const readAgain = rows.flatMap(({ rejectKey, needsKnown }) => (needsKnown === true ? [rejectKey] : []));
  yield { rows, total: null, readVersion, hubTimeMs, readAgain };
  return { reason: 'no-rows', paging: 'keyset', rows: 0, totalAtStart: null, totalAtEnd: null, isUnread };
}

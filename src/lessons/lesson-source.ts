import { localDate } from '../core/full-pull-time.ts';
import { ANY_DAY, studentRejectKey, type StudentDays } from '../core/lessons/read-days.ts';
import { collectionOf } from '../config/schedules.ts';
import { askedDays, isInWindow, windowAround, type DayWindow } from '../core/lessons/window.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import { isFromHub, type ErrorCode, type RollcallError } from '../errors.ts';
import { HubError } from '../hub/hub-error.ts';
import { sourceOf } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import { notTooDeep, type Source } from '../source/source.ts';
import type { OpenOptions, Reading, SourceEnd, SourcePage } from '../source/source-scan.ts';
import type { TenantSchedules } from '../table/tenant.ts';

/** So many students in a row without an answer fail the sync; fewer, if fewer are wanted. */
const MOST_IN_A_ROW = 10;
/** These say nothing about the student who was asked for. */
const OF_EVERYBODY: ReadonlySet<ErrorCode> = new Set([
  'HUB_CIRCUIT_OPEN',
  'HUB_TOKEN_UNAVAILABLE',
  'HUB_TOKEN_REFUSED',
]);

export interface LessonSourceOptions extends TenantSchedules {
  readonly now: () => number;
  /** Students with a current absence that touches these days. */
  readonly absentIn: (window: DayWindow) => Promise<ReadonlySet<string>>;
  readonly allStudents: () => Promise<Iterable<string>>;
}

/** The lessons of students, day by day: a scope is a wanted student, and its scan the days of the window. */
export function lessonSource(options: LessonSourceOptions): Source {
  const { students, changes, now, timeZone } = options;
  const parent = collectionOf(students);
  return {
    ...(parent === null ? {} : { parents: sourceOf(parent) }),
    changes,
    scopeOf: (key) => splitCompositeKey(key)?.[0] ?? '',
    async begin(): Promise<Reading> {
      const window = windowAround(localDate(now(), timeZone), options);
      const scopes = await wantedStudents(options, window);
      return {
        scopes,
        isOutside(key) {
          const [student, day] = splitCompositeKey(key) ?? ['', ''];
          return !scopes.has(student) || (day !== ANY_DAY && !isInWindow(day, window));
        },
        scans(some) {
          const answers = new Answers(options, { window, students: some.size, wanted: scopes.size });
          return [...some].map((scope) => ({ scope, open: (scan) => answers.scan(scope, scan) }));
        },
      };
    },
  };
}

/** Those with an absence in the window come first. */
async function wantedStudents(
  { students, absentIn, allStudents }: LessonSourceOptions,
  window: DayWindow,
): Promise<ReadonlySet<string>> {
  const absent = await absentIn(window);
  if (students === 'absent') return absent;
  const wanted = new Set(students === 'all' ? await allStudents() : students);
  return absent.intersection(wanted).union(wanted);
}

/** The answers for the students of one sync. It distinguishes a hub in trouble from students for whom it has no answer. */
class Answers {
  readonly #options: LessonSourceOptions;
  readonly #window: DayWindow;
  readonly #mostInARow: number;
  readonly #isWhole: boolean;
  #left: number;
  #inARow = 0;
  #hasAnswer = false;
  readonly #rejects: KeyedRow[] = [];
  /** An error that may pass. */
  #passing: RollcallError | null = null;

  constructor(
    options: LessonSourceOptions,
    sync: { readonly window: DayWindow; readonly students: number; readonly wanted: number },
  ) {
    this.#options = options;
    this.#window = sync.window;
    this.#mostInARow = Math.min(MOST_IN_A_ROW, sync.wanted);
    this.#isWhole = sync.students === sync.wanted;
    this.#left = sync.students;
  }

  /** All rejects come with the last student, when it is clear that the hub is not in trouble. */
  async *scan(
    student: string,
    { turn, readVersion, signal }: OpenOptions,
  ): AsyncGenerator<SourcePage, SourceEnd> {
    const version = readVersion();
    const asked = this.#ask(student, signal).catch((error: unknown) => ({ error }));
    // From here on in the order of the students.
    const [answer] = await Promise.all([asked, turn]);
    this.#left -= 1;
    const page = { total: null, readVersion: version, hubTimeMs: null };
    if ('error' in answer) this.#noteRefusal(student, answer.error);
    else {
      this.#inARow = 0;
      this.#hasAnswer = true;
      const { rows, isUnread, hubTimeMs } = answer;
      const empty = rows.flatMap(({ rejectKey, needsKnown }) => (needsKnown === true ? [rejectKey] : []));
      const readAgain = isUnread ? [] : [studentRejectKey(student), ...empty];
      yield { ...page, rows, hubTimeMs, readAgain };
    }
    if (this.#left === 0) {
      if (!this.#hasAnswer && this.#passing !== null) throw this.#passing;
      if (this.#rejects.length > 0) yield { ...page, rows: this.#rejects };
    }
    const isUnread = 'error' in answer || answer.isUnread;
    return { reason: 'no-rows', paging: 'keyset', rows: 0, totalAtStart: null, totalAtEnd: null, isUnread };
  }

  async #ask(student: string, signal: AbortSignal): Promise<StudentDays & { hubTimeMs: number | null }> {
    const { readSchedule, reader } = this.#options;
    const window = this.#window;
    const { lessons, isUtf8, hubTimeMs } = await readSchedule({ student, ...askedDays(window), signal });
    const read = (): StudentDays => reader.read({ student, window, lessons, isUtf8 });
    return { ...notTooDeep(read, 'schedules'), hubTimeMs };
  }

  #noteRefusal(student: string, error: unknown): void {
    if (!isFromHub(error) || OF_EVERYBODY.has(error.code)) throw error;
    this.#inARow += 1;
    if (this.#inARow >= this.#mostInARow) throw error;
    this.#rejects.push(this.#options.reader.rejectStudent(student, reasonOf(error)));
    if (error.reaction !== 'retry') return;
    this.#passing = error;
    if (this.#isWhole) this.#options.changes.note([student]);
  }
}

/** It is published, so it names no student and no content. */
function reasonOf(error: RollcallError): string {
  if (error.code === 'HUB_LESSONS_UNREADABLE') return error.message;
  const status = error instanceof HubError && error.status !== null ? ` (HTTP ${error.status})` : '';
  return `the hub does not give the student's lessons: ${error.code}${status}`;
}

import { absentEntryOf } from '../core/absences/absent-entry.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import { localDate } from '../core/full-pull-time.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import { askedDays, isInWindow, windowAround, type DayWindow } from '../core/lessons/window.ts';
import { createZoneClock } from '../core/lessons/zone-clock.ts';
import { RowComparison, type TopicView } from '../core/verify/row-comparison.ts';
import { isFromHub } from '../errors.ts';
import { askEach } from '../hub/find-each.ts';
import { collectionNamed } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { ScheduleSettings } from '../session/schedules/schedule-settings.ts';
import type { TenantCollection } from '../session/tenant-parts.ts';
import { readIds, type HubRows } from './hub-rows.ts';
import { readUntilComplete } from './read-until-complete.ts';
import { TopicReader } from '../log/read-only-log.ts';
import { readTopic, reportDifferences, type Verdict } from './report-differences.ts';
import type { CollectionReport, VerifyTools } from './verify-tools.ts';
import { randomSeed } from '../core/seen-keys.ts';

const NAME = 'schedules';

/** Requests the lessons of each wanted student, and compares the days of the window. */
export async function verifySchedules(
  tools: VerifyTools,
  {
    collection,
    settings,
    signal,
  }: { collection: TenantCollection; settings: ScheduleSettings; signal: AbortSignal },
): Promise<CollectionReport> {
  const topic = await readTopic(tools, NAME, signal);
  const { view } = topic;
  const { timeZone } = collection.fullPull;
  const window = windowAround(localDate(tools.parts.runtime.now(), timeZone), settings);
  const { students, doubt } = await wantedOf(tools, {
    settings,
    window,
    timeZone,
    signal,
  });
  const requests = new StudentRequests(tools, { settings, window, wanted: students, signal });
  const comparison = new RowComparison(view, { seed: randomSeed(), skipsEmpty: true });
  const failed = await requests.readAll([...students], (days) =>
    days.forEach((each) => comparison.take(each)),
  );
  const unknown = new Set([...failed, ...requests.unreadable]);
  comparison.finish((_area, key) => !unknown.has(splitCompositeKey(key)?.[0] ?? ''));
  return reportDifferences(tools, {
    ...topic,
    collection,
    comparison,
    hub: requests.hubRows(view),
    isWrongTenant: false,
    // Days that leave the window, and students who are no longer wanted, are not subject to the guard.
    guardsLeftOver: false,
    doubtIn: () => doubtOf({ doubt, failed: failed.length, of: students.size }),
    signal,
  });
}

function doubtOf(asked: { doubt: string | null; failed: number; of: number }): Verdict | null {
  const { doubt, failed, of } = asked;
  if (doubt !== null) {
    const why = `not all students were seen: ${doubt}`;
    return { outcome: 'unproven', why, remedy: "Check what the hub answers, and the token's rights." };
  }
  if (failed === 0) return null;
  const why = `the requests for ${failed} of ${of} students failed`;
  return { outcome: 'unproven', why, remedy: 'Give the command again once the Core API answers.' };
}

interface Wanted {
  readonly students: ReadonlySet<string>;
  /** Why more students may be wanted; null when the list is complete. */
  readonly doubt: string | null;
}

/** The students whose schedules are wanted, from the topics and the hub, not from the index. */
async function wantedOf(
  tools: VerifyTools,
  options: {
    settings: ScheduleSettings;
    window: DayWindow;
    timeZone: string;
    signal: AbortSignal;
  },
): Promise<Wanted> {
  const { settings, window, timeZone, signal } = options;
  const { students: which } = settings;
  if (Array.isArray(which)) return { students: new Set(which as readonly string[]), doubt: null };
  if (which === 'all') return studentsOfHub(tools, options);
  const clock = createZoneClock(timeZone);
  const absent = new Map<string, string>();
  const reader = new TopicReader(tools, ['absences'], async (record) => {
    absent.delete(record.key);
    if (record.value === null) return;
    const { value } = await tools.check.check({ ...record, value: record.value });
    const entry = value === null ? null : absentEntryOf(value as AbsenceVersionValue);
    if (entry === null) return;
    const isNow = clock.dateAt(entry.fromMs) <= window.to && clock.dateAt(entry.toMs) >= window.from;
    if (isNow) absent.set(record.key, entry.studentId);
  });
  await reader.readOn(signal);
  return { students: new Set(absent.values()), doubt: null };
}

async function studentsOfHub({ parts }: VerifyTools, { signal }: { signal: AbortSignal }): Promise<Wanted> {
  const students = new Set<string>();
  const doubt = await readUntilComplete(async () => {
    const before = students.size;
    const onId = (id: string): void => void students.add(id);
    const scan = await readIds(parts.hub, collectionNamed('students'), { onId, signal });
    const news = students.size - before;
    return { scan, news, newRowsThereAtStart: news };
  });
  return { students, doubt };
}

interface RequestOptions {
  readonly settings: ScheduleSettings;
  readonly window: DayWindow;
  readonly wanted: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** Requests lessons by student, several at a time. */
class StudentRequests {
  /** Students with a lesson of unknown day. */
  readonly unreadable = new Set<string>();
  readonly #tools: VerifyTools;
  readonly #options: RequestOptions;

  constructor(tools: VerifyTools, options: RequestOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  /** Returns the students whose request failed. Throws when all failed. */
  async readAll(
    students: readonly string[],
    onRows: (days: readonly KeyedRow[]) => void,
  ): Promise<readonly string[]> {
    const { settings, signal } = this.#options;
    const failed: string[] = [];
    let asked = 0;
    await askEach(students, { concurrency: settings.api.concurrency, signal }, async (student, each) => {
      try {
        onRows(await this.#read(student, each));
      } catch (error) {
        if (!isFromHub(error)) throw error;
        failed.push(student);
        if (failed.length === students.length) throw error;
      }
      asked += 1;
      this.#tools.onProgress({
        collection: NAME,
        what: 'students asked for',
        count: asked,
        of: students.length,
      });
      return 'go-on';
    });
    return failed;
  }

  /** Every day of the window. */
  async #read(student: string, signal: AbortSignal): Promise<readonly KeyedRow[]> {
    const { settings, window } = this.#options;
    const { lessons, isUtf8 } = await settings.api.readSchedule({ student, ...askedDays(window), signal });
    const days = settings.reader.read({ student, window, lessons, isUtf8 });
    if (days.kind === 'days') return [...days.filled, ...days.empty];
    this.unreadable.add(student);
    return [days.row];
  }

  /** For a second check. Days that are not mirrored, and days without lessons and without a record, count as not found. */
  hubRows(view: TopicView): HubRows {
    const { window, wanted } = this.#options;
    return {
      // There is no list; `ask` answers for every day.
      read: () => Promise.resolve(null),
      ask: async (keys) => {
        const days = keys.map((key) => ({ key, parts: splitCompositeKey(key) }));
        const students = days.flatMap(({ parts }) => {
          const [student = '', day = ''] = parts ?? [];
          return wanted.has(student) && (day === '*' || isInWindow(day, window)) ? [student] : [];
        });
        const met = new Map<string, KeyedRow>();
        const failed = new Set(
          await this.readAll([...new Set(students)], (rows) => {
            for (const row of rows) {
              if (row.becameEmpty !== true || view.rows.has(row.key ?? '')) met.set(row.rejectKey, row);
            }
          }),
        );
        const isMissing = ({ key, parts }: (typeof days)[number]): boolean =>
          !met.has(key) && !failed.has(parts?.[0] ?? '');
        return { rows: [...met.values()], notFound: days.filter(isMissing).map(({ key }) => key) };
      },
    };
  }
}

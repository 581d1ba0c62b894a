import { DayReader, type DaySchedule } from '../../../src/core/lessons/read-days.ts';
import type { WhichStudents } from '../../../src/config/schedules.ts';
import type { RollcallError } from '../../../src/errors.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import { lessonSource } from '../../../src/lessons/lesson-source.ts';
import type { Transaction } from '../../../src/log/log.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import { ChangedScopes } from '../../../src/table/tenant.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';
import type { ReplacedSync, SyncOptions, SyncResult } from '../../../src/sync/sync-result.ts';
import { VirtualTime } from '../../simulation/parts/virtual-time.ts';
import { madeCollection } from '../pipeline/support/made-collection.ts';
import { DEFAULT_LESSON_FIELDS } from '../core/support/lesson-fields.ts';

const OSLO = 'Europe/Oslo';
const WINDOW = { daysBack: 1, daysAhead: 3, timeZone: OSLO };
const UNMAPPED = { drop: [], pseudonymise: [], ignore: [] };
const { signal } = new AbortController();

/** A Core API in virtual time, and the syncs of `schedules` that ask it. It is Wednesday noon. */
export class LessonBench {
  readonly time = new VirtualTime(Date.parse('2026-11-18T12:00:00Z'));
  readonly changes = new ChangedScopes();
  readonly transactions: Transaction[] = [];
  readonly committedAtMs: number[] = [];
  readonly requests: { readonly student: string; readonly from: string; readonly to: string }[] = [];
  /** The days with a lesson of each student. */
  readonly lessons = new Map<string, Set<string>>();
  readonly absent = new Set<string>();
  guard = { rows: 1_000, ratio: 1 };
  latencyMs: (student: string) => number = () => 100;
  /** More content of each lesson of a student. */
  content: (student: string) => object = () => ({});
  trouble: (student: string) => HubError | null = () => null;
  #parts: MirroredCollection | null = null;
  readonly #which: WhichStudents;

  constructor(which: WhichStudents = 'all') {
    this.#which = which;
  }

  async sync(mode: SyncMode, options: SyncOptions = {}): Promise<SyncResult | ReplacedSync> {
    this.#parts ??= await this.#open();
    const parts = this.#parts;
    return this.time.run(() => runSync(parts, mode, { ...options, signal }));
  }

  /** What a consumer holds: the number of lessons of each key, or for `rejects` the reason. */
  view(topic: 'schedules' | 'rejects' = 'schedules'): Record<string, unknown> {
    const view: Record<string, unknown> = {};
    for (const { topic: of, key, body } of this.transactions.flatMap(({ records }) => records)) {
      if (of !== topic) continue;
      if (body === null) Reflect.deleteProperty(view, key);
      else {
        const value = JSON.parse(body.toString()) as DaySchedule & { reason: string };
        view[key] = topic === 'rejects' ? value.reason : value.lessons.length;
      }
    }
    return view;
  }

  #open(): Promise<MirroredCollection> {
    const { now, sleep } = this.time;
    return madeCollection({
      name: 'schedules',
      tenant: { guard: this.guard, scopesAhead: 2 },
      commit: (transaction) => {
        this.transactions.push(transaction);
        this.committedAtMs.push(now());
        return { committedAtMs: now() };
      },
      runtime: { now, sleep },
      own: { source: this.#source() },
    });
  }

  #source() {
    return lessonSource({
      readSchedule: async ({ student, from, to }) => {
        this.requests.push({ student, from, to });
        await this.time.sleep(this.latencyMs(student), signal);
        const trouble = this.trouble(student);
        if (trouble !== null) throw trouble;
        const days = [...(this.lessons.get(student) ?? [])].filter((day) => day >= from && day <= to);
        const lessons = days.map((day) =>
          Object.assign({ id: day, start: `${day}T08:15:00` }, this.content(student)),
        );
        return { lessons, isUtf8: true, hubTimeMs: this.time.now() };
      },
      reader: new DayReader({ ...UNMAPPED, fields: DEFAULT_LESSON_FIELDS, timeZone: OSLO }),
      ...WINDOW,
      students: this.#which,
      now: this.time.now,
      absentIn: () => Promise.resolve(new Set(this.absent)),
      allStudents: () => Promise.resolve(this.lessons.keys()),
      changes: this.changes,
    });
  }
}

export function hubTrouble(code: RollcallError['code'], status: number): HubError {
  return new HubError(code, `HTTP ${status}`, { remedy: 'none: it is a test', status });
}

import { TransactionSize } from '../../../../src/core/transaction-size.ts';
import { DayReader, type DaySchedule } from '../../../../src/core/lessons/read-days.ts';
import { localDate } from '../../../../src/core/full-pull-time.ts';
import type { CoreApi } from '../../../../src/hub/core-api.ts';
import { HubError } from '../../../../src/hub/hub-error.ts';
import { withOffsets } from '../../../../src/model/progress.ts';
import { MissingRows } from '../../../../src/table/missing-rows.ts';
import { CollectionWriter } from '../../../../src/table/collection-writer.ts';
import type { WriterStart } from '../../../../src/table/collection-progress.ts';
import type { PipelineEvent } from '../../../../src/core/pipeline-events.ts';
import { Offer, type ParentState } from '../../../../src/timetable/offer.ts';
import { ScheduleRunner } from '../../../../src/session/schedules/schedule-runner.ts';
import { wantedStudents } from '../../../../src/session/schedules/wanted-students.ts';
import type { WhichStudents } from '../../../../src/core/schedules/which-students.ts';
import type { Committed, Transaction } from '../../../../src/log/log.ts';
import { createMemoryStore } from '../../../../src/state/memory-store.ts';
import { DEFAULT_LESSON_FIELDS } from '../../core/support/lesson-fields.ts';
import type { VirtualTime } from '../../../simulation/parts/virtual-time.ts';

const TENANT = 'north';
const FULL_PULL = { at: '04:00', timeZone: 'Europe/Oslo' };

export interface BenchOptions {
  readonly students?: WhichStudents | undefined;
  readonly daysBack?: number | undefined;
  readonly daysAhead?: number | undefined;
  /** The time until an answer, in ms. */
  readonly latencyMs?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly guard?: { rows: number; ratio: number } | undefined;
}

export interface Request {
  readonly atMs: number;
  readonly student: string;
  readonly from: string;
  readonly to: string;
}

/** A Core API in virtual time, and the runner on it. Index and deletion memory outlive a runner. */
export class ScheduleBench {
  readonly time: VirtualTime;
  readonly requests: Request[] = [];
  readonly events: PipelineEvent[] = [];
  readonly transactions: Transaction[] = [];
  /** The days with a lesson of each student. */
  readonly lessons = new Map<string, Set<string>>();
  readonly absent = new Set<string>();
  readonly students: string[] = [];
  /** Fails a request, or delays it for a number of ms, instead of an answer. */
  trouble: (student: string) => HubError | number | null = () => null;
  /** Gives the hub's answer instead of the student's days. */
  answer: (student: string, days: readonly string[]) => readonly unknown[] = (_, days) => days.map(lessonOn);
  parents: ParentState = 'ready';
  hubSkewMs = 0;
  isOtherHeld = false;
  mostUnderWay = 0;
  readonly store = createMemoryStore();
  readonly #options: BenchOptions;
  readonly #listeners = new Set<(students: ReadonlySet<string>) => void>();
  #underWay = 0;
  #offset = 0;
  #ids = 0;
  #start: WriterStart | null = null;
  writer: CollectionWriter | null = null;

  constructor(time: VirtualTime, options: BenchOptions = {}) {
    this.time = time;
    this.#options = options;
  }

  /** Says that an absence of each of these students changed. */
  change(...students: string[]): void {
    for (const listener of this.#listeners) listener(new Set(students));
  }

  /** Makes a runner as a start of the process does. */
  async start(signal: AbortSignal = new AbortController().signal): Promise<ScheduleRunner> {
    const state = this.store.tenant(TENANT);
    const index = state.collection('schedules');
    if (this.#start === null) {
      const replay = await index.rebuild();
      await replay.finish({ sequence: 0, transactionId: 'start', committedAtMs: 0, offsets: {} });
      this.#start = { progress: null, indexed: 'start', offsets: {}, knownRows: 0, knownRejects: 0 };
    } else {
      const progress = this.writer?.progress ?? null;
      const position = await index.position();
      this.#start = {
        progress,
        indexed: position?.transactionId ?? 'start',
        offsets: {},
        knownRows: await index.count('rows'),
        knownRejects: await index.count('rejects'),
      };
    }
    const { now, sleep } = this.time;
    const randomId = (): string => (this.#ids += 1).toString(16).padStart(8, '0');
    const settledBy = this.#start.progress?.deletions?.settledBy ?? null;
    const missing = await MissingRows.open(state.deletions, 'schedules', settledBy);
    const writer = new CollectionWriter(
      {
        missing,
        tenantId: TENANT,
        collection: 'schedules',
        reader: { encode: (value) => Buffer.from(JSON.stringify(value)) },
        size: new TransactionSize(),
        encodeReject: (value) => Buffer.from(JSON.stringify(value)),
        index,
        commit: (transaction) => this.#commit(transaction),
        now,
        randomId,
      },
      this.#start,
    );
    this.writer = writer;
    const {
      students: which = 'all',
      daysBack = 1,
      daysAhead = 3,
      guard = { rows: 50, ratio: 0.05 },
    } = this.#options;
    const absent = {
      between: async function* (this: void): AsyncGenerator<string[]> {},
      onChange: (listener: (students: ReadonlySet<string>) => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    const everybodyAbsent = this.absent;
    absent.between = async function* () {
      yield [...everybodyAbsent];
    };
    const all = this.students;
    const allStudents = async function* (): AsyncGenerator<string[]> {
      yield [...all];
    };
    const notOffered = await state.deletions.notOffered();
    const emit = (event: PipelineEvent): void => void this.events.push(event);
    return new ScheduleRunner({
      api: this.#api(),
      reader: new DayReader({
        fields: DEFAULT_LESSON_FIELDS,
        timeZone: FULL_PULL.timeZone,
        drop: [],
        pseudonymise: [],
        ignore: [],
      }),
      writer,
      settling: {
        collection: 'schedules',
        missing,
        limits: guard,
        confirmAfterMs: 5 * 60_000,
        today: () => localDate(now(), FULL_PULL.timeZone),
        now,
        isOtherHeld: () => this.isOtherHeld,
        emit: (event) => emit({ type: 'deletion', event }),
      },
      absent,
      wanted: (window) => wantedStudents({ which, absent, allStudents }, window),
      onlyWanted: which !== 'absent',
      parent: which === 'all' ? 'students' : 'absence-versions',
      parents: () => this.parents,
      offer: new Offer('schedules', state.deletions, notOffered.has('schedules')),
      size: { daysBack, daysAhead },
      fullPull: FULL_PULL,
      deltaEveryMs: 60_000,
      now,
      random: () => 0.5,
      randomId,
      sleep,
      emit,
      signal,
    });
  }

  /** What a consumer holds: the number of lessons of each key, or for 'rejects' the reason. */
  view(topic: 'schedules' | 'rejects' = 'schedules'): Map<string, unknown> {
    const view = new Map<string, unknown>();
    for (const { key, body } of this.#records(topic)) {
      if (body === null) view.delete(key);
      else if (topic === 'rejects') view.set(key, (JSON.parse(body.toString()) as { reason: string }).reason);
      else view.set(key, (JSON.parse(body.toString()) as DaySchedule).lessons.length);
    }
    return view;
  }

  /** The keys in the order of their records, with `+` for a value and `-` for a removal. */
  published(topic: 'schedules' | 'rejects' = 'schedules'): string[] {
    return this.#records(topic).map(({ key, body }) => `${body === null ? '-' : '+'}${key}`);
  }

  #records(topic: string) {
    return this.transactions.flatMap(({ records }) => records).filter((record) => record.topic === topic);
  }

  async #commit(transaction: Transaction): Promise<Committed> {
    await Promise.resolve();
    this.transactions.push(transaction);
    this.#offset += transaction.records.length;
    const offsets = { ...transaction.progress.offsets, 'p.north.schedules/0': this.#offset };
    const progress = withOffsets(transaction.progress, offsets);
    return { progress, derived: [], committedAtMs: this.time.now() };
  }

  #api(): CoreApi {
    const { latencyMs = 100, concurrency = 2 } = this.#options;
    return {
      concurrency,
      readSchedule: async ({ student, from, to, signal }) => {
        this.requests.push({ atMs: this.time.now(), student, from, to });
        this.#underWay += 1;
        this.mostUnderWay = Math.max(this.mostUnderWay, this.#underWay);
        try {
          const trouble = this.trouble(student);
          await this.time.sleep(typeof trouble === 'number' ? trouble : latencyMs, signal);
          if (trouble instanceof HubError) throw trouble;
          const days = [...(this.lessons.get(student) ?? [])].filter((day) => day >= from && day <= to);
          return {
            lessons: this.answer(student, days),
            isUtf8: true,
            hubTimeMs: this.time.now() + this.hubSkewMs,
          };
        } finally {
          this.#underWay -= 1;
        }
      },
    };
  }
}

export function lessonOn(day: string): object {
  return { id: `lesson of ${day}`, start: `${day}T08:15:00`, end: `${day}T09:00:00`, class: 'k' };
}

export function hubTrouble(
  code: 'HUB_UNAVAILABLE' | 'HUB_NOT_OFFERED' | 'HUB_REQUEST_REFUSED' | 'HUB_FORBIDDEN',
  status: number,
): HubError {
  return new HubError(code, `HTTP ${status}`, { remedy: 'none: it is a test', status });
}

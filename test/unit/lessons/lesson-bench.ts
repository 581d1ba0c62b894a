import { localDate } from '../../../src/core/full-pull-time.ts';
import { LateRowWatch } from '../../../src/core/late-rows.ts';
import { DayReader, type DaySchedule } from '../../../src/core/lessons/read-days.ts';
import type { WhichStudents } from '../../../src/config/schedules.ts';
import { TransactionSize } from '../../../src/core/transaction-size.ts';
import type { RollcallError } from '../../../src/errors.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import { lessonSource } from '../../../src/lessons/lesson-source.ts';
import type { Transaction } from '../../../src/log/log.ts';
import { withOffsets, type SyncMode } from '../../../src/model/progress.ts';
import { ChangedScopes } from '../../../src/source/source-scan.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { HubFindings } from '../../../src/sync/hub-findings.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { MirroredCollection } from '../../../src/sync/mirrored-collection.ts';
import type { SyncOptions, SyncResult } from '../../../src/sync/sync-result.ts';
import { CollectionWriter } from '../../../src/table/collection-writer.ts';
import { MissingRows } from '../../../src/table/missing-rows.ts';
import { VirtualTime } from '../../simulation/parts/virtual-time.ts';
import { DEFAULT_LESSON_FIELDS } from '../core/support/lesson-fields.ts';

const OSLO = 'Europe/Oslo';
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
  trouble: (student: string) => HubError | null = () => null;
  #parts: MirroredCollection | null = null;
  readonly #which: WhichStudents;

  constructor(which: WhichStudents = 'all') {
    this.#which = which;
  }

  async sync(mode: SyncMode, options: SyncOptions = {}): Promise<SyncResult> {
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

  async #open(): Promise<MirroredCollection> {
    const state = createMemoryStore().tenant('north');
    const index = state.collection('schedules');
    await (
      await index.rebuild()
    ).finish({ sequence: 0, transactionId: 'start', committedAtMs: 0, offsets: {} });
    const { now, sleep } = this.time;
    let ids = 0;
    const randomId = (): string => (ids += 1).toString(16).padStart(8, '0');
    const missing = await MissingRows.open(state.deletions, 'schedules', null);
    const writer = new CollectionWriter(
      {
        missing,
        tenantId: 'north',
        collection: 'schedules',
        reader: { encode: (value) => Buffer.from(JSON.stringify(value)) },
        size: new TransactionSize(),
        encodeReject: (value) => Buffer.from(JSON.stringify(value)),
        index,
        commit: (transaction) => {
          this.transactions.push(transaction);
          this.committedAtMs.push(now());
          const progress = withOffsets(transaction.progress, {});
          return Promise.resolve({ progress, derived: [], committedAtMs: now() });
        },
        now,
        randomId,
      },
      { progress: null, indexed: 'start', offsets: {}, knownRows: 0, knownRejects: 0 },
    );
    return {
      writer,
      pages: null,
      source: this.#source(),
      requireRecords: () => Promise.resolve(),
      collection: 'schedules',
      memory: state.deletions,
      settling: {
        collection: 'schedules',
        missing,
        limits: this.guard,
        confirmAfterMs: 300_000,
        today: () => localDate(now(), OSLO),
        now,
        isOtherHeld: () => false,
        emit: () => undefined,
      },
      scopesAhead: 2,
      identity: null,
      overlapMs: 0,
      inheritedWatermarkMs: null,
      late: new LateRowWatch(() => 7),
      findings: new HubFindings(),
      now,
      randomId,
      sleep,
      onPage: () => undefined,
    };
  }

  #source() {
    return lessonSource({
      readSchedule: async ({ student, from, to }) => {
        this.requests.push({ student, from, to });
        await this.time.sleep(this.latencyMs(student), signal);
        const trouble = this.trouble(student);
        if (trouble !== null) throw trouble;
        const days = [...(this.lessons.get(student) ?? [])].filter((day) => day >= from && day <= to);
        const lessons = days.map((day) => ({ id: day, start: `${day}T08:15:00` }));
        return { lessons, isUtf8: true, hubTimeMs: this.time.now() };
      },
      reader: new DayReader({
        fields: DEFAULT_LESSON_FIELDS,
        timeZone: OSLO,
        drop: [],
        pseudonymise: [],
        ignore: [],
      }),
      students: this.#which,
      daysBack: 1,
      daysAhead: 3,
      timeZone: OSLO,
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

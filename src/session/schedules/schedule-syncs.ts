import { isInWindow, type DayWindow } from '../../core/lessons/window.ts';
import type { CollectionName } from '../../model/collections.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import type { SyncMode } from '../../model/progress.ts';
import type { ActiveSync } from '../../table/active-sync.ts';
import type { CollectionWriter } from '../../table/collection-writer.ts';
import type { Emit } from '../../core/pipeline-events.ts';
import type { Republication } from '../../table/active-sync.ts';
import type { SyncResult } from '../../sync/sync-result.ts';
import { addStats, newSyncStats, type SyncStats } from '../../core/sync-stats.ts';
import { settleMissing, type Rows, type Settled, type SettleParts } from '../../sync/settle-missing.ts';
import type { Approved } from '../../sync/sync-result.ts';
import type { KeyedRow } from '../../core/row-changes.ts';

export const SCHEDULES = 'schedules' as const satisfies CollectionName;
/** Minimum time between two transactions while answers keep coming. */
const FLUSH_EVERY_MS = 1_000;

export interface ScheduleSyncParts {
  readonly writer: CollectionWriter;
  readonly settling: SettleParts;
  readonly deltaEveryMs: number;
  readonly now: () => number;
  readonly randomId: () => string;
  readonly emit: Emit;
}

/** A round of some students: of those with missing days, or with days that a person has approved. */
export interface PartOfRound {
  readonly students: Iterable<string>;
  readonly approved?: Approved | undefined;
  readonly isConfirming: boolean;
}

/** A round is a full sync: one request for each wanted student. */
export interface Round {
  readonly sync: ActiveSync;
  readonly startedAtMs: number;
  /** Requests follow each other at once, and the round is recorded as one full sync. */
  readonly isHurried: boolean;
  /** Null: it asks for every wanted student. */
  readonly part: PartOfRound | null;
  /** Students that the hub has answered for. */
  readonly answered: Set<string>;
  removedInBatches: number;
  /** Hub clock minus local clock at the first answer, ms. */
  skewMs: number | null;
}

/** Answers between rounds, or in a round that takes a day: an incremental sync. */
interface Batch {
  readonly sync: ActiveSync;
  readonly startedAtMs: number;
}

/**
 * Turns answers into syncs, transactions and records of progress. A round that takes a day is recorded as many
 * incremental syncs, each complete for the students in it, and at its end as one complete full sync.
 */
export class ScheduleSyncs {
  readonly #parts: ScheduleSyncParts;
  /** Days that had lessons and have none by the last answer: the end of the round decides. */
  readonly empty = new Map<string, KeyedRow>();
  #round: Round | null = null;
  #batch: Batch | null = null;
  #unrecordedAnswers = 0;
  #flushedAtMs = 0;
  #recordedAtMs = 0;
  #skewMs = 0;
  /** Sum of several incremental syncs, for a request that waits for them. */
  #sum: SyncStats | null = null;

  constructor(parts: ScheduleSyncParts) {
    this.#parts = parts;
  }

  get round(): Round | null {
    return this.#round;
  }

  /**
   * Removes days outside the window, and students no longer wanted. These removals follow from the configuration, so
   * Rollcall neither asks the hub nor applies the guard.
   */
  async sweep(wanted: ReadonlySet<string>, window: DayWindow): Promise<void> {
    const { writer } = this.#parts;
    const isOver = (key: string): boolean => {
      const parts = splitCompositeKey(key);
      if (parts === null || !wanted.has(parts[0])) return true;
      return parts[1] !== '*' && !isInWindow(parts[1], window);
    };
    for (const area of ['rows', 'rejects'] as const) {
      const known = area === 'rows' ? writer.known.rows : writer.known.rejects;
      for (let left = known; left > 0;) {
        const { keys, count } = await writer.known.find(area, isOver);
        for (const key of keys) this.empty.delete(key);
        await writer.remove(this.currentSync(), area, keys);
        await this.flush({ isForced: false });
        left = count - keys.length;
      }
    }
  }

  /** Notes the hub's time in an answer. */
  noteHubTime(hubTimeMs: number): void {
    this.#skewMs = hubTimeMs - this.#parts.now();
    if (this.#round !== null) this.#round.skewMs ??= this.#skewMs;
  }

  /** `student`: null if the hub cannot answer for the student. */
  noteAnswer(student: string | null): void {
    if (student !== null) this.#round?.answered.add(student);
    this.#unrecordedAnswers += 1;
  }

  /** The sync that an answer belongs to. */
  currentSync(): ActiveSync {
    const round = this.#round;
    const isComplete =
      round !== null && (round.isHurried || this.#parts.writer.progress?.lastCompleteFull == null);
    return isComplete ? round.sync : this.#openBatch().sync;
  }

  newSync(mode: SyncMode, republication?: Republication): ActiveSync {
    const { now, randomId, writer } = this.#parts;
    const stats = newSyncStats({ passId: randomId(), mode, startedAtMs: now() + this.#skewMs });
    return {
      stats,
      seen: null,
      seenByOthers: null,
      seenRejects: null,
      readVersion: writer.readVersion(),
      republication,
    };
  }

  /** Time until there is something to commit if no more answers come, ms. */
  dueInMs(underWay: number): number {
    const { writer, deltaEveryMs, now } = this.#parts;
    if (writer.isFull) return 0;
    if (writer.hasPending) return underWay === 0 ? 0 : this.#flushedAtMs + FLUSH_EVERY_MS - now();
    // Without changes, a record of progress from time to time shows that students were asked for.
    return this.#unrecordedAnswers > 0 ? this.#recordedAtMs + deltaEveryMs - now() : Number.POSITIVE_INFINITY;
  }

  /**
   * Commits pending changes and the record of progress. `isForced`: even if no student was answered since the last
   * record.
   */
  async flush({ isForced }: { isForced: boolean }): Promise<void> {
    const { writer, now } = this.#parts;
    if (!isForced && this.#unrecordedAnswers === 0 && !writer.hasPending) return;
    const sync = this.currentSync();
    // Answers from now on belong to the next batch.
    const batch = this.#batch;
    this.#batch = null;
    this.#unrecordedAnswers = 0;
    this.#flushedAtMs = now();
    if (batch === null && this.#round !== null) sync.stats.startedAtMs = this.#hubTimeOfStart(this.#round);
    const { progress } = writer;
    const isComplete = batch !== null && progress?.lastCompleteFull != null;
    const completion = { watermarkMs: progress?.watermarkMs ?? 0, lastCompleteFull: null };
    await writer.flush(sync, isComplete ? completion : 'incomplete');
    this.#recordedAtMs = now();
    if (batch === null) return;
    writer.end(batch.sync);
    this.#emitEnd(batch.sync, { startedAtMs: batch.startedAtMs, alreadyReported: 0 });
    const { stats } = batch.sync;
    if (this.#round !== null) {
      this.#round.removedInBatches += stats.rowsRemoved;
      addStats(this.#round.sync.stats, stats);
    }
    if (this.#sum !== null) addStats(this.#sum, stats);
  }

  beginRound(options: {
    isHurried: boolean;
    republication?: Republication | undefined;
    part?: PartOfRound | null;
  }): void {
    const { writer, emit, now } = this.#parts;
    const { isHurried, republication, part = null } = options;
    this.dropRound();
    this.empty.clear();
    const mode = part === null ? 'FULL' : 'DELTA';
    const sync = this.newSync(mode, republication);
    const answered = new Set<string>();
    this.#round = { sync, startedAtMs: now(), isHurried, part, answered, removedInBatches: 0, skewMs: null };
    writer.begin(sync);
    emit({ type: 'pass-started', collection: SCHEDULES, mode });
  }

  /** Every student was answered or given up: settles empty days and commits. All changes must have been flushed. */
  async completeRound(round: Round, wanted: ReadonlySet<string>): Promise<SyncResult> {
    const { writer, now } = this.#parts;
    const { stats } = round.sync;
    stats.startedAtMs = this.#hubTimeOfStart(round);
    const settled = await this.#settle(round, wanted);
    const withheld =
      round.sync.deletions === undefined ? (writer.progress?.rowsWithheld ?? 0) : stats.rowsWithheld;
    await writer.flush(round.sync, {
      watermarkMs: round.part === null ? stats.startedAtMs : (writer.progress?.watermarkMs ?? 0),
      lastCompleteFull:
        round.part === null
          ? {
              passId: stats.passId,
              startedAtMs: stats.startedAtMs,
              rows: writer.known.rows,
              rowsRejected: writer.known.rejects,
              rowsWithheld: withheld,
            }
          : null,
    });
    await settled.remember();
    this.#recordedAtMs = now();
    this.#emitEnd(round.sync, { startedAtMs: round.startedAtMs, alreadyReported: round.removedInBatches });
    this.dropRound();
    const { unconfirmed, confirmAtMs, approved } = settled;
    return { ...complete(stats), withheld, unconfirmed, confirmAtMs, approvedGone: approved };
  }

  #settle({ sync, part, answered }: Round, wanted: ReadonlySet<string>): Promise<Settled> {
    const { writer, settling } = this.#parts;
    const { day = '', removed = 0 } = writer.progress?.deletions ?? {};
    const removedToday = day === settling.today() ? removed : 0;
    const rows: Rows = {
      // Days that became empty are still rows.
      known: Math.max(0, writer.known.rows - removedToday),
      // The answers name every day: no other is missing.
      unseen: () => Promise.resolve({ keys: [], count: 0 }),
      isSeen: () => false,
      note(state, withheld) {
        sync.deletions = state;
        sync.stats.rowsWithheld = withheld;
      },
      remove: () => Promise.resolve(),
      async publish(days) {
        if (days.length > 0) await writer.publish(sync, days);
      },
    };
    const verdict = { kind: 'complete', missesNeeded: 2 } as const;
    return settleMissing(
      settling,
      {
        syncId: sync.stats.passId,
        isConfirming: part?.isConfirming === true,
        verdicts: new Map([...answered].map((student) => [student, verdict])),
        scopeOf: (key) => splitCompositeKey(key)?.[0] ?? '',
        exists: (student) => wanted.has(student),
        becameEmpty: [...this.empty.values()],
        approval: part?.approved ?? null,
        before: writer.progress?.deletions,
      },
      rows,
    );
  }

  /** Ends the round without recording it as complete. */
  dropRound(): void {
    if (this.#round !== null) this.#parts.writer.end(this.#round.sync);
    this.#round = null;
  }

  /** Starts adding up incremental syncs for {@link endSum}. */
  beginSum(): void {
    this.#sum = this.newSync('DELTA').stats;
  }

  async endSum(): Promise<SyncResult> {
    const stats = this.#sum ?? this.newSync('DELTA').stats;
    await this.flush({ isForced: true });
    this.#sum = null;
    const withheld = this.#parts.writer.progress?.rowsWithheld ?? 0;
    return { ...complete(stats), withheld };
  }

  #hubTimeOfStart(round: Round): number {
    return round.startedAtMs + (round.skewMs ?? this.#skewMs);
  }

  #openBatch(): Batch {
    if (this.#batch === null) {
      const sync = this.newSync('DELTA');
      this.#parts.writer.begin(sync);
      this.#batch = { sync, startedAtMs: this.#parts.now() };
      this.#parts.emit({ type: 'pass-started', collection: SCHEDULES, mode: 'DELTA' });
    }
    return this.#batch;
  }

  /** `alreadyReported`: removals that the ends of incremental syncs have reported. */
  #emitEnd({ stats }: ActiveSync, sync: { startedAtMs: number; alreadyReported: number }): void {
    const { emit, now, writer } = this.#parts;
    emit({
      type: 'pass-ended',
      collection: SCHEDULES,
      outcome: 'complete',
      why: null,
      short: null,
      stats: { ...stats, rowsRemoved: stats.rowsRemoved - sync.alreadyReported },
      durationMs: now() - sync.startedAtMs,
      rows: writer.known.rows,
      rejects: writer.known.rejects,
      progress: writer.progress,
    });
  }
}

function complete(stats: SyncStats): Extract<SyncResult, { kind: 'complete' }> {
  return { kind: 'complete', stats, withheld: 0, short: null, unconfirmed: 0, confirmAtMs: null };
}

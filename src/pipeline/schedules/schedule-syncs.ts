import { isInWindow, type DayWindow } from '../../core/lessons/window.ts';
import type { CollectionName } from '../../model/collections.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import type { SyncMode } from '../../model/progress.ts';
import type { ActiveSync } from '../active-sync.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import type { Emit } from '../pipeline-events.ts';
import type { Republication } from '../republication.ts';
import type { SyncResult } from '../sync-result.ts';
import { addStats, newSyncStats, type SyncStats } from '../sync-stats.ts';
import { EmptiedDays, type EmptiedDaysParts } from './emptied-days.ts';

export const SCHEDULES = 'schedules' as const satisfies CollectionName;
/** Minimum time between two transactions while answers keep coming. */
const FLUSH_EVERY_MS = 1_000;

export interface ScheduleSyncParts {
  readonly writer: CollectionWriter;
  readonly emptied: EmptiedDaysParts;
  readonly deltaEveryMs: number;
  readonly now: () => number;
  readonly randomId: () => string;
  readonly emit: Emit;
}

/** A round is a full sync: one request for each wanted student. */
export interface Round {
  readonly sync: ActiveSync;
  readonly startedAtMs: number;
  /** Requests follow each other at once, and the round is recorded as one full sync. */
  readonly isHurried: boolean;
  /** Every student was asked for; those with inconclusive answers are asked for a second time. */
  isLast: boolean;
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
  #emptied: EmptiedDays | null = null;
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

  async emptied(): Promise<EmptiedDays> {
    this.#emptied ??= await EmptiedDays.open(this.#parts.emptied);
    return this.#emptied;
  }

  /**
   * Removes days outside the window, and students no longer wanted. These removals follow from the configuration, so
   * Rollcall neither asks the hub nor applies the guard.
   */
  async sweep(wanted: ReadonlySet<string>, window: DayWindow): Promise<void> {
    const { writer } = this.#parts;
    const emptied = await this.emptied();
    const isOver = (key: string): boolean => {
      const parts = splitCompositeKey(key);
      if (parts === null || !wanted.has(parts[0])) return true;
      return parts[1] !== '*' && !isInWindow(parts[1], window);
    };
    for (const area of ['rows', 'rejects'] as const) {
      const known = area === 'rows' ? writer.known.rows : writer.known.rejects;
      for (let left = known; left > 0;) {
        const { keys, count } = await writer.known.find(area, isOver);
        emptied.forget(keys);
        await writer.remove(this.currentSync(), area, keys);
        await this.flush({ isForced: false });
        left = count - keys.length;
      }
    }
  }

  /** Every student of the approved days was answered: commits the answers. */
  async endApproval(): Promise<SyncResult> {
    await this.flush({ isForced: true });
    const emptied = await this.emptied();
    const { stats } = this.newSync('FULL');
    stats.rowsWithheld = emptied.withheldCount;
    return { ...complete(stats), approvedGone: emptied.endApproval() };
  }

  /** Ends the approval; days that the hub has not confirmed stay withheld. */
  dropApproval(): void {
    this.#emptied?.endApproval();
  }

  /** Notes the hub's time in an answer. */
  noteHubTime(hubTimeMs: number): void {
    this.#skewMs = hubTimeMs - this.#parts.now();
    if (this.#round !== null) this.#round.skewMs ??= this.#skewMs;
  }

  noteAnswer(): void {
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
    const emptied = await this.emptied();
    const sync = this.currentSync();
    // Answers from now on belong to the next batch.
    const batch = this.#batch;
    this.#batch = null;
    this.#unrecordedAnswers = 0;
    this.#flushedAtMs = now();
    if (batch === null && this.#round !== null) sync.stats.startedAtMs = this.#hubTimeOfStart(this.#round);
    await emptied.settle(sync);
    sync.stats.rowsWithheld = emptied.withheldCount;
    const { progress } = writer;
    const isComplete = batch !== null && progress?.lastCompleteFull != null;
    const completion = { watermarkMs: progress?.watermarkMs ?? 0, lastCompleteFull: null };
    await writer.flush(sync, isComplete ? completion : 'incomplete');
    this.#recordedAtMs = now();
    await emptied.remember({ isRoundOver: false });
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

  beginRound(options: { isHurried: boolean; republication?: Republication | undefined }): void {
    const { writer, emit, now } = this.#parts;
    const { isHurried, republication } = options;
    this.dropRound();
    const sync = this.newSync('FULL', republication);
    this.#round = { sync, startedAtMs: now(), isHurried, isLast: false, removedInBatches: 0, skewMs: null };
    writer.begin(sync);
    emit({ type: 'pass-started', collection: SCHEDULES, mode: 'FULL' });
  }

  /** Every student was answered: commits the complete full sync. All changes must have been flushed. */
  async completeRound(round: Round): Promise<SyncResult> {
    const { writer, now } = this.#parts;
    const emptied = await this.emptied();
    const { stats } = round.sync;
    stats.startedAtMs = this.#hubTimeOfStart(round);
    stats.rowsWithheld = emptied.withheldCount;
    await writer.flush(round.sync, {
      watermarkMs: stats.startedAtMs,
      lastCompleteFull: {
        passId: stats.passId,
        startedAtMs: stats.startedAtMs,
        rows: writer.known.rows,
        rowsRejected: writer.known.rejects,
        rowsWithheld: stats.rowsWithheld,
      },
    });
    await emptied.remember({ isRoundOver: true });
    this.#recordedAtMs = now();
    this.#emitEnd(round.sync, { startedAtMs: round.startedAtMs, alreadyReported: round.removedInBatches });
    this.dropRound();
    return complete(stats);
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
    stats.rowsWithheld = (await this.emptied()).withheldCount;
    this.#sum = null;
    return complete(stats);
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
      stats: { ...stats, rowsRemoved: stats.rowsRemoved - sync.alreadyReported },
      durationMs: now() - sync.startedAtMs,
      rows: writer.known.rows,
      rejects: writer.known.rejects,
      progress: writer.progress,
    });
  }
}

function complete(stats: SyncStats): Extract<SyncResult, { kind: 'complete' }> {
  return { kind: 'complete', stats, withheld: stats.rowsWithheld, wantsSecondSync: false };
}

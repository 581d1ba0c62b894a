import type { CollectionFacts, RunningSync } from '../../core/health/tenant-facts.ts';
import type { Shortfall } from '../../core/deletions/evidence.ts';
import type { LateNote } from '../../core/late-rows.ts';
import { RollcallError } from '../../errors.ts';
import type { SyncMode, Progress } from '../../model/progress.ts';
import type { PipelineEvent } from '../../core/pipeline-events.ts';
import { ChangeHistory, type MinuteOfChanges } from './change-history.ts';

type SyncEvent = Extract<
  PipelineEvent,
  { readonly type: 'caught-up' | `pass-${string}` | 'not-offered' | 'committed' }
>;

/** Facts that only the process that mirrors the collection knows. Times are ms since the epoch, by the local clock. */
export interface LiveCollection {
  /** Rows in the topic. */
  readonly rowsInKafka: number | null;
  /** Rows that the hub had at the end of the last full sync. */
  readonly rowsAtHub: number | null;
  readonly lastFullEndedMs: number | null;
  readonly lastIncrementalEndedMs: number | null;
  readonly changes: readonly MinuteOfChanges[];
}

/** Notes the events of one collection. */
export class CollectionMonitor {
  readonly #settings: Pick<CollectionFacts, 'collection' | 'hasIncremental' | 'deltaEveryMs' | 'fullPull'>;
  readonly #overlapMs: number;
  readonly #history = new ChangeHistory();
  readonly #running = new Map<SyncMode, RunningSync>();
  readonly #endedMs: Record<SyncMode, number | null> = { FULL: null, DELTA: null };
  #progress: Progress | null = null;
  #rows: number | null = null;
  #rowsAtHub: number | null = null;
  #late: LateNote | null = null;
  #committedAtMs: number | null = null;
  isNotOffered = false;
  isWrongTenant = false;
  isLost = false;
  /** The last full sync is not complete, because it stayed below the hub's total. */
  short: Shortfall | null = null;

  constructor(
    settings: Pick<CollectionFacts, 'collection' | 'hasIncremental' | 'deltaEveryMs' | 'fullPull'>,
    overlapMs: number,
  ) {
    this.#settings = settings;
    this.#overlapMs = overlapMs;
  }

  get progress(): Progress | null {
    return this.#progress;
  }

  /** Notes the progress of a derived collection; its syncs are those of its source. */
  setProgress(progress: Progress, nowMs: number): void {
    this.#progress = progress;
    this.#committedAtMs = nowMs;
    this.#rows = progress.lastCompleteFull?.rows ?? null;
  }

  addChanges(changes: Partial<MinuteOfChanges>, nowMs: number): void {
    this.#history.add(nowMs, changes);
  }

  note(event: SyncEvent, nowMs: number): void {
    switch (event.type) {
      case 'caught-up':
        this.#running.clear();
        this.#progress = event.progress;
        this.#rows = event.rows;
        this.#rowsAtHub = rowsAtHub(event.progress);
        return;
      case 'pass-started':
        this.#running.set(event.mode, {
          mode: event.mode,
          startedAtMs: nowMs,
          seen: 0,
          expected: event.mode === 'FULL' ? this.#expectedRows() : null,
        });
        return;
      case 'pass-page':
        this.#notePage(event, nowMs);
        return;
      case 'committed':
        this.#committedAtMs = nowMs;
        return;
      case 'pass-ended':
        this.#noteEnd(event, nowMs);
        return;
      case 'not-offered':
        this.#running.delete(event.mode);
        this.isNotOffered = true;
        return;
      case 'pass-failed':
        this.#running.delete(event.mode);
        if (event.error instanceof RollcallError && event.error.code === 'HUB_FOREIGN_DATA')
          this.isWrongTenant = true;
        if (event.error instanceof RollcallError && event.error.code === 'ABSENCES_LOST') this.isLost = true;
        return;
      case 'pass-stopped':
        this.#running.delete(event.mode);
        return;
      default:
    }
  }

  facts(): CollectionFacts {
    const [running] = [this.#running.get('FULL') ?? this.#running.get('DELTA')];
    return {
      ...this.#settings,
      progress: this.#progress,
      lateRows: this.#late,
      committedAtMs: this.#committedAtMs,
      running,
    };
  }

  live(nowMs: number): LiveCollection {
    return {
      rowsInKafka: this.#rows,
      rowsAtHub: this.#rowsAtHub,
      lastFullEndedMs: this.#endedMs.FULL,
      lastIncrementalEndedMs: this.#endedMs.DELTA,
      changes: this.#history.minutes(nowMs),
    };
  }

  #notePage({ stats, tally }: SyncEvent & { type: 'pass-page' }, nowMs: number): void {
    this.#history.add(nowMs, { created: tally.created, updated: tally.updated });
    const running = this.#running.get(stats.mode);
    if (running === undefined) return;
    this.#running.set(stats.mode, {
      ...running,
      seen: stats.rowsSeen,
      expected: stats.mode === 'FULL' ? (stats.totalAtStart ?? running.expected) : null,
    });
  }

  #noteEnd(event: SyncEvent & { type: 'pass-ended' }, nowMs: number): void {
    const { stats, outcome } = event;
    this.#running.delete(stats.mode);
    this.isNotOffered = false;
    this.#progress = event.progress;
    this.#rows = event.rows;
    this.#history.add(nowMs, { removed: stats.rowsRemoved });
    if (stats.late !== null) this.#late = { ...stats.late, overlapMs: this.#overlapMs };
    if (stats.mode === 'FULL') this.short = outcome === 'complete' ? null : event.short;
    if (outcome !== 'complete') return;
    this.isWrongTenant = false;
    this.isLost = false;
    this.#endedMs[stats.mode] = nowMs;
    if (stats.mode === 'FULL') this.#rowsAtHub = stats.totalAtEnd ?? stats.rowsSeen;
  }

  #expectedRows(): number | null {
    const rows = this.#progress?.lastCompleteFull?.rows ?? 0;
    return rows > 0 ? rows : null;
  }
}

/** Only the record of a full sync has the hub's own number. */
function rowsAtHub(progress: Progress | null): number | null {
  if (progress === null || progress.mode !== 'FULL' || !progress.complete) return null;
  return progress.totalAtEnd ?? progress.rowsSeen;
}

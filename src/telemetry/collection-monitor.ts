import type { CollectionFacts, RunningSync } from '../core/health/tenant-facts.ts';
import type { Shortfall } from '../core/deletions/evidence.ts';
import { RollcallError } from '../errors.ts';
import type { Progress, SyncMode } from '../model/progress.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';

/** The events that name a collection. */
export type CollectionEvent = Extract<PipelineEvent, { readonly collection: unknown }>;
type Settings = Pick<CollectionFacts, 'collection' | 'hasIncremental' | 'deltaEveryMs' | 'fullPull'>;

/** Notes the events of one collection: facts that only the process that mirrors it knows. Times are of the local clock. */
export class CollectionMonitor {
  readonly #settings: Settings;
  readonly running = new Map<SyncMode, RunningSync>();
  /** Its full sync is due, and waits for those of other tenants. */
  isWaiting = false;
  /**
   * When the last complete sync ended, ms since the epoch; after a start, when the last full one began, and 0 if there was
   * none; null: not known, or not offered.
   */
  readonly completedMs: Record<SyncMode, number | null> = { FULL: null, INCREMENTAL: null };
  progress: Progress | null = null;
  /** Rows in the topic. */
  rowsInKafka: number | null = null;
  /** Rows that the hub had at the end of the last full sync. */
  rowsAtHub: number | null = null;
  /** Rows that cannot be decoded at present; null before the start is over. */
  rejects: number | null = null;
  /** The last full sync stayed below the hub's total. */
  short: Shortfall | null = null;
  /** Why the last sync of each kind proved nothing. */
  readonly inconclusive: Record<SyncMode, string | null> = { FULL: null, INCREMENTAL: null };
  isNotOffered = false;
  isWrongTenant = false;
  isLost = false;
  #late = { rowsLate: 0, isFilterMute: false };

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Notes the progress of a derived collection; its syncs are those of its source. */
  setProgress(progress: Progress): void {
    this.progress = progress;
    this.rowsInKafka = progress.lastCompleteFull?.rows ?? null;
  }

  note(event: CollectionEvent, nowMs: number): void {
    switch (event.type) {
      case 'caught-up':
        this.endSyncs();
        this.progress = event.progress;
        this.rowsInKafka = event.rows;
        this.rejects = event.rejects;
        this.rowsAtHub = rowsAtHub(event.progress);
        // 0 is a value to alert on.
        this.completedMs.FULL = event.progress?.lastCompleteFull?.startedAtMs ?? 0;
        return;
      case 'full-sync-waits':
        this.isWaiting = true;
        return;
      case 'sync-started': {
        const { mode } = event;
        if (mode === 'FULL') this.isWaiting = false;
        const expected = mode === 'FULL' ? this.progress?.lastCompleteFull?.rows || null : null;
        const startedAt = new Date(nowMs).toISOString();
        this.running.set(mode, { mode, startedAt, seen: 0, expected });
        return;
      }
      case 'sync-page': {
        const { mode, rowsSeen, totalAtStart } = event.stats;
        const running = this.running.get(mode);
        if (running === undefined) return;
        const expected = mode === 'FULL' ? (totalAtStart ?? running.expected) : null;
        this.running.set(mode, { ...running, seen: rowsSeen, expected });
        return;
      }
      case 'sync-ended':
        this.#noteEnd(event, nowMs);
        return;
      case 'not-offered':
        this.isNotOffered = true;
        this.completedMs.FULL = null;
        this.completedMs.INCREMENTAL = null;
        this.running.delete(event.mode);
        return;
      case 'sync-failed': {
        const code = event.error instanceof RollcallError ? event.error.code : null;
        if (code === 'HUB_FOREIGN_DATA') this.isWrongTenant = true;
        if (code === 'ABSENCES_LOST') this.isLost = true;
        this.running.delete(event.mode);
        return;
      }
      default:
    }
  }

  facts(): CollectionFacts {
    return {
      ...this.#settings,
      progress: this.progress,
      ...this.#late,
      rowsInKafka: this.rowsInKafka,
      rowsAtHub: this.rowsAtHub,
      isWaiting: this.isWaiting,
      running: this.running.get('FULL') ?? this.running.get('INCREMENTAL') ?? null,
    };
  }

  /** The session has ended, and with it what ran. */
  endSyncs(): void {
    this.running.clear();
    this.isWaiting = false;
  }

  #noteEnd(event: PipelineEvent & { type: 'sync-ended' }, nowMs: number): void {
    const { stats, outcome } = event;
    this.running.delete(event.mode);
    this.isNotOffered = false;
    this.progress = event.progress;
    this.rowsInKafka = event.rows;
    this.rejects = event.rejects;
    const { rowsLate } = stats;
    if (rowsLate !== null) this.#late = { rowsLate, isFilterMute: stats.isFilterMute === true };
    if (stats.mode === 'FULL') this.short = outcome === 'complete' ? null : event.short;
    const isInconclusive = outcome === 'inconclusive' && event.short === null;
    this.inconclusive[stats.mode] = isInconclusive ? (event.why ?? 'its list proves nothing') : null;
    if (outcome !== 'complete') return;
    if (stats.mode === 'FULL') this.inconclusive.INCREMENTAL = null;
    this.isWrongTenant = false;
    this.isLost = false;
    this.completedMs[stats.mode] = nowMs;
    if (stats.mode === 'FULL') this.rowsAtHub = stats.totalAtEnd ?? stats.rowsSeen;
  }
}

/** Only the record of a full sync has the hub's own number. */
function rowsAtHub(progress: Progress | null): number | null {
  if (progress === null || progress.mode !== 'FULL' || !progress.complete) return null;
  return progress.totalAtEnd ?? progress.rowsSeen;
}

import { enabledCollections, type TenantConfig } from '../config.ts';
import type { CollectionFacts, NotReady, RunningSync } from '../core/health/tenant-facts.ts';
import { describeError, hasCode, isFromHub, RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { foreignSince, type Progress, type SyncMode } from '../model/progress.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';

/** The events that name a collection. */
export type CollectionEvent = Extract<PipelineEvent, { readonly collection: unknown }>;
type EndOfSync = Extract<CollectionEvent, { readonly type: 'sync-ended' | 'sync-failed' }>;
type Settings = Pick<CollectionFacts, 'collection' | 'hasIncremental' | 'incrementalEveryMs' | 'fullSync'>;

/** Why a part is not well, without the name of the part. */
export type Reason = Omit<NotReady, 'part'>;

/** How many syncs in a row must fail before this counts as a trouble. An inconclusive sync counts as failed. */
const FAILING_AFTER = 2;
/** The remedy for an inconclusive sync, unless the reason is that the scan was short. */
export const INCONCLUSIVE_REMEDY =
  'Run "rollcall check": it says what is wrong with the answers of the hub, and what the hub refuses this client. Nothing was removed.';

/** The remedy for an error that nobody expected. */
const FAULT_REMEDY =
  'This is a fault of Rollcall. Report it with the stack from the log. Rollcall tries again by itself.';

/** Notes the events of one collection: facts that only the process that mirrors it knows. Times are of the local clock. */
export class CollectionMonitor {
  readonly #settings: Settings;
  readonly running = new Map<SyncMode, RunningSync>();
  /** Whether the full sync of the collection is due, and waits for full syncs of other tenants. */
  isWaiting = false;
  /**
   * When the last complete sync ended, ms since the epoch. After a start: when the last complete full sync began, 0 if
   * there was none. Null: not known, or not offered.
   */
  readonly completedMs: Record<SyncMode, number | null> = { FULL: null, INCREMENTAL: null };
  /**
   * The last committed progress. The monitor of the tenant sets it, too: from the sync of the source collection, or
   * from the log.
   */
  progress: Progress | null = null;
  /** The number of rows in the topic. */
  rows: number | null = null;
  /** Rows that cannot be decoded at present; null before the start is over. */
  rejects: number | null = null;
  isNotOffered = false;
  isLost = false;
  /** Whether the last failure is news: it has another reason than the one before, or it is the second inconclusive sync in a row. */
  isFailureNew = false;
  /** How many syncs of each kind have been inconclusive in a row. */
  readonly #inconclusive: Partial<Record<SyncMode, number>> = {};
  /** How many syncs of each kind have failed in a row, and why the last one did. */
  readonly #failures: Partial<Record<SyncMode, { count: number; reason: Reason } | undefined>> = {};
  #late = { rowsLate: 0, filterSelectsNothing: false };
  #unmet: readonly string[] = [];

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get collection(): CollectionName {
    return this.#settings.collection;
  }

  note(event: CollectionEvent, nowMs: number): void {
    switch (event.type) {
      case 'caught-up':
        this.endSyncs();
        this.progress = event.progress;
        this.rows = event.rows;
        this.rejects = event.rejects;
        // If there was no complete full sync, the metric is 0, so that an alert can fire.
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
        this.rows = event.rows;
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
        this.#failures[event.mode] = undefined;
        this.completedMs.FULL = null;
        this.completedMs.INCREMENTAL = null;
        this.running.delete(event.mode);
        return;
      case 'sync-failed':
        this.progress = event.progress ?? this.progress;
        // While the circuit is open, the hub is not asked. This says nothing about the collection.
        this.isFailureNew = !hasCode(event.error, 'HUB_CIRCUIT_OPEN');
        if (isFromHub(event.error) && this.isFailureNew)
          this.#noteFailure(event, reasonOf(event.error), nowMs);
        if (hasCode(event.error, 'ABSENCES_LOST')) {
          this.isFailureNew = !this.isLost;
          this.isLost = true;
        }
        this.running.delete(event.mode);
        return;
      default:
    }
  }

  facts(): CollectionFacts {
    return {
      ...this.#settings,
      progress: this.progress,
      ...this.#late,
      unmet: this.#unmet,
      rowsNow: this.rows,
      rejectsNow: this.rejects,
      // If the data is another tenant's, the decision says more than the failure.
      failing: foreignSince(this.progress) !== null ? null : this.failing,
      isWaiting: this.isWaiting,
      running: this.running.get('FULL') ?? this.running.get('INCREMENTAL') ?? null,
    };
  }

  /** The session has ended, and so have its syncs. */
  endSyncs(): void {
    this.running.clear();
    this.isWaiting = false;
  }

  #noteFailure(event: EndOfSync, { why, remedy }: Reason, nowMs: number): void {
    const { count = 0, reason } = this.#failures[event.mode] ?? {};
    const since = reason?.since ?? new Date(nowMs).toISOString();
    this.isFailureNew = !Object.values(this.#failures).some((known) => known?.reason.why === why);
    this.#failures[event.mode] = { count: count + 1, reason: { why, remedy, since } };
  }

  /** Why the syncs of the collection fail; null until two syncs of a kind have failed in a row. */
  get failing(): Reason | null {
    return Object.values(this.#failures).find((each) => each && each.count >= FAILING_AFTER)?.reason ?? null;
  }

  #noteEnd(event: PipelineEvent & { type: 'sync-ended' }, nowMs: number): void {
    const { stats, outcome } = event;
    this.running.delete(event.mode);
    this.isNotOffered = false;
    if (outcome === 'inconclusive' && event.short === null) {
      const why = event.why ?? 'nothing shows that the list of the hub is complete';
      this.#noteFailure(event, { why, remedy: INCONCLUSIVE_REMEDY }, nowMs);
    } else this.#failures[event.mode] = undefined;
    const inARow = outcome === 'inconclusive' ? (this.#inconclusive[event.mode] ?? 0) + 1 : 0;
    this.#inconclusive[event.mode] = inARow;
    this.isFailureNew = inARow === FAILING_AFTER;
    this.progress = event.progress;
    this.rows = event.rows;
    this.rejects = event.rejects;
    this.#unmet = event.unmet ?? this.#unmet;
    const { rowsLate } = stats;
    if (rowsLate !== null)
      this.#late = { rowsLate, filterSelectsNothing: stats.filterSelectsNothing === true };
    if (outcome !== 'complete') return;
    if (stats.mode === 'FULL') this.#failures.INCREMENTAL = undefined;
    this.isLost = false;
    this.completedMs[stats.mode] = nowMs;
  }
}

/** One for each collection of a tenant; they know nothing yet. */
export function monitorsOf(config: TenantConfig): ReadonlyMap<CollectionName, CollectionMonitor> {
  return new Map(
    enabledCollections(config).map(({ name, keyset }) => {
      const { incrementalEveryMs, fullSync } = config.collections[name];
      const settings = { collection: name, hasIncremental: keyset, incrementalEveryMs, fullSync };
      return [name, new CollectionMonitor(settings)];
    }),
  );
}

/** The failure with its code, which `rollcall help` explains. */
export function reasonOf(error: unknown): Reason {
  const remedy = error instanceof RollcallError ? error.remedy : FAULT_REMEDY;
  return { why: describeError(error), remedy };
}

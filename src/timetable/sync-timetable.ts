import { lastFullPullDue, type FullPullTime } from '../core/full-pull-time.ts';
import { nextSync, type NextSync } from '../core/next-sync.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { SyncParts } from '../sync/sync-parts.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import type { SyncRetries } from './sync-retries.ts';

/** If only full syncs bring changes, the pause between them is this many times their duration. */
const FULL_RESTS = 10;

export interface TimetableParts {
  readonly collection: CollectionName;
  readonly sync: Pick<SyncParts, 'writer' | 'identity' | 'findings' | 'settling' | 'source'>;
  /** Whether the hub filters the collection by the time of a change, or its source knows which scopes have changed. */
  readonly hasIncremental: boolean;
  readonly fullPull: FullPullTime;
  readonly deltaEveryMs: number;
  readonly now: () => number;
}

/** Which sync of a collection is due, from the results of its last syncs. The rules are in core/next-sync.ts. */
export class SyncTimetable {
  readonly #parts: TimetableParts;
  readonly #retries: SyncRetries;
  #lastSyncAtMs: number | null = null;
  #lastFullAtMs: number | null;
  #isFilterRefused = false;
  #fullTookMs = 0;

  constructor(parts: TimetableParts, retries: SyncRetries) {
    this.#parts = parts;
    this.#retries = retries;
    const { isMappingNew, completeSinceMs } = parts.sync.writer.committed;
    // Fields that `drop` and `pseudonymise` newly name must leave the topics now, not with the next daily full sync.
    this.#lastFullAtMs = isMappingNew ? null : completeSinceMs;
  }

  next(): NextSync {
    const { sync, fullPull, deltaEveryMs, now } = this.#parts;
    const nowMs = now();
    const hubNowMs = sync.findings.hubTimeMs(nowMs);
    const watermarkMs = sync.writer.progress?.watermarkMs ?? null;
    // Which scopes have changed is known, however long ago all were read.
    const isByTime = watermarkMs === null || sync.source.changes === undefined;
    return nextSync({
      watermarkMs: isByTime ? watermarkMs : hubNowMs,
      lastFullAtMs: this.#isWrongTenant ? null : this.#lastFullAtMs,
      lastSyncAtMs: this.#lastSyncAtMs,
      fullDueAtMs: lastFullPullDue(fullPull, nowMs),
      fullNotBeforeMs: this.#retries.notBefore('FULL', nowMs),
      confirmAtMs: sync.settling.missing.owed?.atMs ?? null,
      incrementalNotBeforeMs: this.#retries.notBefore('INCREMENTAL', nowMs),
      deltaEveryMs,
      hasIncremental: this.canBeIncremental && this.mayBringChanges,
      fullEveryMs: this.#isFilterRefused ? Math.max(deltaEveryMs, this.#fullTookMs * FULL_RESTS) : null,
      hubNowMs,
      nowMs,
    });
  }

  /** Whether incremental syncs are possible; otherwise a full sync replaces each. */
  get canBeIncremental(): boolean {
    const { writer } = this.#parts.sync;
    const isKnown = writer.committed.completeSinceMs !== null && writer.progress?.watermarkMs != null;
    return this.hasIncremental && isKnown && !this.#isWrongTenant;
  }

  /** Whether the hub supports the filter of incremental syncs; true until it refuses it. */
  get hasIncremental(): boolean {
    return this.#parts.hasIncremental && !this.#isFilterRefused;
  }

  /** Whether an incremental sync has anything to read. */
  get mayBringChanges(): boolean {
    return this.#parts.sync.source.changes?.isEmpty !== true;
  }

  /** Almost none of the rows were known: only a full sync shows which tenant they belong to. */
  get #isWrongTenant(): boolean {
    return this.#parts.sync.identity?.isFlagged(this.#parts.collection) === true;
  }

  noteFilterRefused(): void {
    this.#isFilterRefused = true;
  }

  /** A full sync is due at once. */
  requireFull(): void {
    this.#lastFullAtMs = null;
  }

  noteEnd(mode: SyncMode, { kind }: SyncResult, startedAtMs: number): void {
    const nowMs = this.#parts.now();
    // The pause after a full sync counts from its end, because it may have taken long.
    this.#lastSyncAtMs = mode === 'FULL' ? nowMs : startedAtMs;
    if (mode === 'FULL') this.#fullTookMs = nowMs - startedAtMs;
    if (mode === 'FULL' && kind === 'complete') this.#lastFullAtMs = startedAtMs;
  }
}

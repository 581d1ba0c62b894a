import { lastDailyTime } from '../core/daily-time.ts';
import { nextSync, type NextSync } from '../core/next-sync.ts';
import { FORGET_AFTER_MS } from '../hub/paging.ts';
import { collectionNamed } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { MirroredCollection } from '../sync/sync.ts';
import type { ReplacedSync, SyncResult } from '../sync/sync-result.ts';
import { jitteredPauseMs } from '../backoff.ts';

const LONGEST_RETRY_MS = 300_000;
/** A hub or a token endpoint that asks for a longer wait is asked again after this time. */
const LONGEST_ASKED_MS = 600_000;
const SHORTEST_RETRY_MS = 1_000;

/** If only full syncs bring changes, the pause between two of them is this many times their duration. */
const FULL_RESTS = 10;

/** Which sync of a collection is due, from the results of its last syncs. The rules are in core/next-sync.ts. */
export class SyncTimetable {
  readonly #own: MirroredCollection;
  /** How many syncs in a row failed, or proved nothing, by mode: a failed full sync says little about incremental syncs. */
  readonly #failures: Record<SyncMode, number> = { FULL: 0, INCREMENTAL: 0 };
  readonly #notBeforeMs: Record<SyncMode, number> = { FULL: 0, INCREMENTAL: 0 };
  #postponedAtMs = 0;
  #lastSyncAtMs: number | null = null;
  #lastFullAtMs: number | null;
  #filterRefusedAtMs = -Infinity;
  #fullTookMs = 0;

  constructor(own: MirroredCollection) {
    this.#own = own;
    const { isMappingNew, completeSinceMs } = own.writer.committed;
    // If an afterschool has just been added to the configuration, its rows have not been read yet.
    const hasConfiguredParents = own.settings.parentIds !== undefined;
    // Fields that have just been added to `drop` or `pseudonymise` must leave the topics at once, not with the next
    // daily full sync.
    this.#lastFullAtMs = isMappingNew || hasConfiguredParents ? null : completeSinceMs;
  }

  next(): NextSync {
    const { tenant, settings, writer, source, deletions, findings } = this.#own;
    const { fullSync, incrementalEveryMs } = settings;
    const nowMs = tenant.runtime.now();
    const hubNowMs = nowMs + (findings.skewMs ?? 0);
    const watermarkMs = writer.progress?.watermarkMs ?? null;
    // A source that knows its changed scopes needs no recent watermark.
    const isByTime = watermarkMs === null || source.changedScopes === undefined;
    return nextSync({
      watermarkMs: isByTime ? watermarkMs : hubNowMs,
      lastFullAtMs: deletions.isForeign ? null : this.#lastFullAtMs,
      lastSyncAtMs: this.#lastSyncAtMs,
      fullDueAtMs: lastDailyTime(fullSync, nowMs),
      fullNotBeforeMs: this.#notBefore('FULL', nowMs),
      confirmAtMs: deletions.missing?.confirmAtMs ?? null,
      incrementalNotBeforeMs: this.#notBefore('INCREMENTAL', nowMs),
      incrementalEveryMs,
      hasIncremental: this.canBeIncremental && this.mayBringChanges,
      fullEveryMs: this.#isFilterRefused ? Math.max(incrementalEveryMs, this.#fullTookMs * FULL_RESTS) : null,
      hubNowMs,
      nowMs,
    });
  }

  /** Whether incremental syncs are possible; otherwise a full sync replaces each. */
  get canBeIncremental(): boolean {
    const { writer, deletions } = this.#own;
    const isKnown = writer.committed.completeSinceMs !== null && writer.progress?.watermarkMs != null;
    return this.hasIncremental && isKnown && !deletions.isForeign;
  }

  /** After a day, the filter is tried again, like other ways of paging. */
  get #isFilterRefused(): boolean {
    return this.#own.tenant.runtime.now() - this.#filterRefusedAtMs < FORGET_AFTER_MS;
  }

  /** Whether the hub supports the filter of incremental syncs; true until it refuses it. */
  get hasIncremental(): boolean {
    if (this.#isFilterRefused) return false;
    return collectionNamed(this.#own.settings.name).keyset || this.#own.source.changedScopes !== undefined;
  }

  /** Whether an incremental sync has anything to read. */
  get mayBringChanges(): boolean {
    return this.#own.source.changedScopes?.isDue(this.#own.tenant.runtime.now()) !== false;
  }

  noteFilterRefused(): void {
    this.#filterRefusedAtMs = this.#own.tenant.runtime.now();
  }

  /** The syncs of this mode succeed again: forgets their failures and pauses. */
  clear(mode: SyncMode): void {
    this.#failures[mode] = 0;
    this.#notBeforeMs[mode] = 0;
  }

  /**
   * Notes one more failure in a row. Returns for how many ms such a sync is not tried again. `askedMs`: for how long
   * the hub, its token endpoint or an open circuit lets nothing through. A sync before that would only fail again.
   * `longestMs` limits the pauses that grow with the failures.
   */
  postpone(mode: SyncMode, askedMs = 0, longestMs = LONGEST_RETRY_MS): number {
    const { incrementalEveryMs } = this.#own.settings;
    const { now, random } = this.#own.tenant.runtime;
    this.#failures[mode] += 1;
    const firstMs = Math.max(SHORTEST_RETRY_MS, Math.min(incrementalEveryMs, 15_000));
    const backoff = { firstMs, longestMs };
    const ownMs = jitteredPauseMs(backoff, this.#failures[mode], random);
    const retryInMs = Math.max(SHORTEST_RETRY_MS, ownMs, Math.min(askedMs, LONGEST_ASKED_MS));
    this.postponeUntil(mode, now() + retryInMs);
    return retryInMs;
  }

  postponeUntil(mode: SyncMode, atMs: number): void {
    this.#postponedAtMs = this.#own.tenant.runtime.now();
    this.#notBeforeMs[mode] = atMs;
  }

  /** If the clock has been set back since a time was noted, this time does not count. */
  #notBefore(mode: SyncMode, nowMs: number): number {
    return nowMs < this.#postponedAtMs ? 0 : this.#notBeforeMs[mode];
  }

  noteEnd(mode: SyncMode, { kind }: Pick<SyncResult | ReplacedSync, 'kind'>, startedAtMs: number): void {
    const nowMs = this.#own.tenant.runtime.now();
    // The pause after a full sync counts from its end, because it may have taken long.
    this.#lastSyncAtMs = mode === 'FULL' ? nowMs : startedAtMs;
    if (mode === 'FULL') this.#fullTookMs = nowMs - startedAtMs;
    if (mode === 'FULL' && kind === 'complete') this.#lastFullAtMs = startedAtMs;
  }
}

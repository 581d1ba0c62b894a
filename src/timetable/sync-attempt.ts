import { lastFullPullDue, type FullPullTime } from '../core/full-pull-time.ts';
import { isOfOneCollection, RollcallError } from '../errors.ts';
import { newSyncStats } from '../core/sync-stats.ts';
import { HubError } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { Emit } from '../core/pipeline-events.ts';
import { parentNotOffered, type Offer, type ParentState } from './offer.ts';
import type { SyncParts } from '../sync/sync-parts.ts';
import { runSync } from '../sync/run-sync.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import type { SyncRetries } from './sync-retries.ts';
import type { SyncOptions } from '../sync/sync-result.ts';
import type { SyncTimetable } from './sync-timetable.ts';

const DAY_MS = 24 * 3_600_000;

export interface AttemptParts {
  readonly collection: CollectionName;
  readonly sync: SyncParts;
  /** The collection whose rows lead to this one's scans; null for most. */
  readonly parent: CollectionName | null;
  /** State of the parents' collection; ready when there is none. */
  readonly parents: () => ParentState;
  readonly offer: Offer;
  readonly fullPull: FullPullTime;
  readonly now: () => number;
  readonly emit: Emit;
}

export type RunOptions = SyncOptions & { readonly signal: AbortSignal };

/** Runs one sync: reports how it began and ended, and notes what that means for the next one. */
export class SyncAttempt {
  readonly #parts: AttemptParts;
  readonly #timetable: SyncTimetable;
  readonly #retries: SyncRetries;

  constructor(parts: AttemptParts, notes: { timetable: SyncTimetable; retries: SyncRetries }) {
    this.#parts = parts;
    this.#timetable = notes.timetable;
    this.#retries = notes.retries;
  }

  async run(mode: SyncMode, options: RunOptions): Promise<SyncResult> {
    const { signal } = options;
    const { collection, emit, now, sync } = this.#parts;
    const startedAtMs = now();
    emit({ type: 'sync-started', collection, mode });
    try {
      if (sync.writer.committed.lost !== undefined) throw sync.writer.committed.lost;
      const result = this.#withoutParents(mode) ?? (await runSync(sync, mode, options));
      // Retry an inconclusive sync like a failed one, with growing pauses.
      if (result.kind === 'inconclusive') this.#retries.postpone(mode);
      else this.#retries.clear(mode);
      // Even if its answers are inconclusive, the hub offers the collection.
      await this.#parts.offer.noteOffered();
      this.#timetable.noteEnd(result.stats.mode, result, startedAtMs);
      emit({
        type: 'sync-ended',
        collection,
        outcome: result.kind,
        why:
          result.kind === 'inconclusive'
            ? result.why
            : result.kind === 'becomes-full'
              ? result.because
              : null,
        short: result.kind === 'becomes-full' ? null : result.short,
        stats: result.stats,
        durationMs: now() - startedAtMs,
        rows: sync.writer.known.rows,
        rejects: sync.writer.known.rejects,
        progress: sync.writer.progress,
        derived: sync.writer.committed.derived.filter((each) => each !== null),
      });
      return result;
    } catch (error) {
      const durationMs = now() - startedAtMs;
      if (signal.aborted) emit({ type: 'sync-stopped', collection, mode, durationMs });
      else await this.#noteFailure(error, { mode, durationMs });
      throw error;
    }
  }

  /** A sync that knows only some of its parents would prove nothing. */
  #withoutParents(mode: SyncMode): SyncResult | null {
    const { collection, parent, parents, sync, now } = this.#parts;
    if (parent === null || parents() === 'ready') return null;
    if (parents() === 'not-offered') throw parentNotOffered(collection, parent);
    const why = `${parent} has had no complete full sync yet`;
    const stats = newSyncStats({ syncId: sync.randomId(), mode, startedAtMs: now() });
    const withheld = sync.writer.progress?.rowsWithheld ?? 0;
    return { kind: 'inconclusive', stats, why, withheld, short: null, confirmAtMs: null };
  }

  async #noteFailure(error: unknown, sync: { mode: SyncMode; durationMs: number }): Promise<void> {
    const { collection, emit, fullPull, now, parents } = this.#parts;
    const { writer } = this.#parts.sync;
    const isNotOffered = error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED';
    // When rows are known, a 404 counts as a temporary failure of a gateway.
    if (isNotOffered && writer.known.rows === 0 && writer.progress?.lastCompleteFull == null) {
      const isNews = await this.#parts.offer.noteNotOffered();
      emit({ type: 'not-offered', collection, error, ...sync, isNews });
      // A collection that lacks its parents begins as soon as these are there.
      if (parents() !== 'not-offered')
        this.#retries.postponeUntil(sync.mode, lastFullPullDue(fullPull, now()) + DAY_MS);
      return;
    }
    const askedMs = error instanceof HubError ? (error.retryAfterMs ?? 0) : 0;
    const retryInMs = isOfOneCollection(error) ? this.#retries.postpone(sync.mode, askedMs) : null;
    emit({ type: 'sync-failed', collection, error, ...sync, retryInMs });
  }
}

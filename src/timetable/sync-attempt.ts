import { lastFullPullDue } from '../core/full-pull-time.ts';
import { isOfOneCollection, RollcallError } from '../errors.ts';
import { newSyncStats, type SyncStats } from '../core/sync-stats.ts';
import { HubError } from '../hub/hub-error.ts';
import type { SyncMode } from '../model/progress.ts';
import { runSync } from '../sync/run-sync.ts';
import type { SyncResult, SyncOptions } from '../sync/sync-result.ts';
import {
  parentNotOffered,
  type SyncedCollection,
  type SyncRetries,
  type SyncTimetable,
} from './sync-timetable.ts';

const DAY_MS = 24 * 3_600_000;

export type RunOptions = SyncOptions & { readonly signal: AbortSignal };

/** Runs one sync: reports how it began and ended, and notes what that means for the next one. */
export class SyncAttempt {
  readonly #parts: SyncedCollection;
  readonly #timetable: SyncTimetable;
  readonly #retries: SyncRetries;

  constructor(parts: SyncedCollection, notes: { timetable: SyncTimetable; retries: SyncRetries }) {
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

/** What runs the syncs of a collection. */
export interface Syncing extends Pick<SyncedCollection, 'sync' | 'deltaEveryMs' | 'sleep'> {
  readonly timetable: SyncTimetable;
  readonly attempt: SyncAttempt;
}

/** Runs a sync, and the full one that replaces an incremental one that is refused, brings too much, or is short. */
export async function syncWithFollowUps(
  parts: Syncing,
  mode: SyncMode,
  options: RunOptions,
): Promise<SyncResult> {
  const { timetable, sync } = parts;
  const first =
    mode === 'INCREMENTAL' && timetable.canBeIncremental
      ? await incrementalSync(parts, options)
      : await fullSync(parts, options);
  if (first.kind !== 'becomes-full') return first;
  const result = withEarlier(first.stats, await fullSync(parts, options));
  if (first.because === 'short' && result.kind === 'complete') sync.findings.ignoreFilteredTotals();
  return result;
}

/** A hub that refuses the filter gets full syncs instead: an incremental sync is a hint, the full sync is the truth. */
async function incrementalSync(parts: Syncing, options: RunOptions): Promise<SyncResult> {
  try {
    return await parts.attempt.run('INCREMENTAL', options);
  } catch (error) {
    const isRefused = error instanceof RollcallError && error.code === 'HUB_REQUEST_REFUSED';
    if (!isRefused || parts.sync.source.changes !== undefined) throw error;
    parts.timetable.noteFilterRefused();
    return fullSync(parts, options);
  }
}

function fullSync(parts: Syncing, { signal, ...options }: RunOptions): Promise<SyncResult> {
  return besideIncrementalSyncs(parts, signal, (both) =>
    parts.attempt.run('FULL', { ...options, signal: both }),
  );
}

/** The result of a request with two syncs: the sums of what both published, otherwise the numbers of the last one. */
function withEarlier(earlier: SyncStats, result: SyncResult): SyncResult {
  const stats: SyncStats = {
    ...result.stats,
    rowsCreated: earlier.rowsCreated + result.stats.rowsCreated,
    rowsUpdated: earlier.rowsUpdated + result.stats.rowsUpdated,
    rowsRemoved: earlier.rowsRemoved + result.stats.rowsRemoved,
  };
  return { ...result, stats };
}

/** Does long work while incremental syncs continue to publish changes. */
export async function besideIncrementalSyncs<T>(
  parts: Syncing,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const broken = new AbortController();
  const both = AbortSignal.any([signal, broken.signal]);
  const deltas = runUntil(parts, done.signal, both).catch((error: unknown) => broken.abort(error));
  try {
    return await work(both);
  } catch (error) {
    // An error that concerns the tenant ends the running incremental sync as well.
    if (!isOfOneCollection(error)) broken.abort(error);
    throw error;
  } finally {
    done.abort();
    await deltas;
  }
}

async function runUntil(parts: Syncing, done: AbortSignal, signal: AbortSignal): Promise<void> {
  const { deltaEveryMs, sync, sleep, timetable, attempt } = parts;
  const isOver = AbortSignal.any([done, signal]);
  for (;;) {
    await sleep(deltaEveryMs, isOver).catch(() => undefined);
    if (isOver.aborted) return;
    if (!timetable.hasIncremental || !timetable.mayBringChanges || sync.writer.progress?.watermarkMs == null)
      continue;
    try {
      // Such as a nightly re-stamp: the running full sync brings all these rows.
      if ((await attempt.run('INCREMENTAL', { signal })).kind === 'becomes-full') return;
    } catch (error) {
      if (!isOfOneCollection(error)) throw error;
    }
  }
}

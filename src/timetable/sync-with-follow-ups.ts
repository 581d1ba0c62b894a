import { RollcallError, isOfOneCollection } from '../errors.ts';
import type { SyncMode } from '../model/progress.ts';
import type { RunOptions, SyncAttempt } from './sync-attempt.ts';
import type { SyncParts } from '../sync/sync-parts.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import type { SyncStats } from '../core/sync-stats.ts';
import type { SyncTimetable } from './sync-timetable.ts';

export interface FollowUpParts extends BesideParts {
  readonly sync: BesideParts['sync'] & Pick<SyncParts, 'findings' | 'source'>;
}

/** Runs a sync, and the full one that replaces an incremental one that is refused, brings too much, or is short. */
export async function syncWithFollowUps(
  parts: FollowUpParts,
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
async function incrementalSync(parts: FollowUpParts, options: RunOptions): Promise<SyncResult> {
  try {
    return await parts.attempt.run('INCREMENTAL', options);
  } catch (error) {
    const isRefused = error instanceof RollcallError && error.code === 'HUB_REQUEST_REFUSED';
    if (!isRefused || parts.sync.source.changes !== undefined) throw error;
    parts.timetable.noteFilterRefused();
    return fullSync(parts, options);
  }
}

function fullSync(parts: FollowUpParts, { signal, ...options }: RunOptions): Promise<SyncResult> {
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
export interface BesideParts {
  readonly sync: Pick<SyncParts, 'writer'>;
  readonly deltaEveryMs: number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timetable: SyncTimetable;
  readonly attempt: SyncAttempt;
}

/** Does long work while incremental syncs continue to publish changes. */
export async function besideIncrementalSyncs<T>(
  parts: BesideParts,
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

async function runUntil(parts: BesideParts, done: AbortSignal, signal: AbortSignal): Promise<void> {
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

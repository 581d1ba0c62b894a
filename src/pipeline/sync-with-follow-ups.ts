import { RollcallError } from '../errors.ts';
import type { SyncMode } from '../model/progress.ts';
import { besideIncrementalSyncs, type BesideParts } from './beside-incremental-syncs.ts';
import type { FullSyncs } from './full-syncs.ts';
import type { AttemptParts, RunOptions } from './sync-attempt.ts';
import type { SyncResult } from './sync-result.ts';
import type { SyncStats } from './sync-stats.ts';

export interface FollowUpParts extends BesideParts, Pick<AttemptParts, 'collection'> {
  readonly fullSyncs: FullSyncs;
}

/**
 * Runs a sync and the syncs that it leads to: a full one where an incremental one is refused or brings an oversized delta,
 * and a second full one where the first wants it.
 */
export async function syncWithFollowUps(
  parts: FollowUpParts,
  mode: SyncMode,
  options: RunOptions,
): Promise<SyncResult> {
  const { timetable, fullSyncs, collection } = parts;
  let result =
    mode === 'DELTA' && timetable.canBeIncremental
      ? await incrementalSync(parts, options)
      : await fullSync(parts, options);
  if (result.kind === 'oversized') result = withEarlier(result.stats, await fullSync(parts, options));
  if (result.kind === 'complete' && result.wantsSecondSync) {
    const first = result.approvedGone ?? 0;
    // The losses of the other collections show whether the losses of this one are credible.
    if (result.wantsOthersFirst === true)
      await besideIncrementalSyncs(parts, options.signal, (signal) =>
        fullSyncs.othersOver(collection, signal),
      );
    result = withEarlier(result.stats, await fullSync(parts, options));
    // The second sync does not count the removals of the first one.
    if (result.kind === 'complete' && result.approvedGone != null && result.approvedGone < first)
      result = { ...result, approvedGone: first };
  }
  return result;
}

/** A hub that refuses the filter gets full syncs instead: an incremental sync is a hint, the full sync is the truth. */
async function incrementalSync(parts: FollowUpParts, options: RunOptions): Promise<SyncResult> {
  try {
    return await parts.attempt.run('DELTA', options);
  } catch (error) {
    const isRefused = error instanceof RollcallError && error.code === 'HUB_REQUEST_REFUSED';
    if (!isRefused) throw error;
    parts.timetable.noteFilterRefused();
    return fullSync(parts, options);
  }
}

function fullSync(parts: FollowUpParts, { signal, ...options }: RunOptions): Promise<SyncResult> {
  const { fullSyncs, collection, attempt } = parts;
  return fullSyncs.run(collection, () =>
    besideIncrementalSyncs(parts, signal, (both) => attempt.run('FULL', { ...options, signal: both })),
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

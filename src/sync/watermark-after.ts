import type { SyncClock } from '../core/watermark.ts';
import type { RunningSync } from './sync.ts';

/**
 * The watermark after a complete sync that has read all its pages. It stays where it was
 * - after a sync of only some scopes,
 * - after a sync that skipped a stale row, because the next sync must read this row again (invariant 2),
 * - after an incremental sync, while the last full sync was inconclusive.
 *
 * The first sync of all scopes sets the watermark even if it skipped a stale row. No incremental sync runs before there
 * is a watermark. So what was published in place of the stale row was read after this sync began, and the next
 * incremental sync reads all later changes.
 */
export function watermarkAfter({ own, sync, isPart }: RunningSync, clock: SyncClock): number | null {
  const mayAdvance = sync.stats.rowsStale === 0 && !isPart && (sync.isFull || !own.findings.isInconclusive);
  if (mayAdvance) return clock.watermarkMs;
  return own.writer.progress?.watermarkMs ?? (isPart ? null : clock.watermarkMs);
}

import type { SyncClock } from '../core/watermark.ts';
import type { RunningSync } from './sync.ts';

/**
 * The watermark after a complete sync that has read all its pages. It stays where it was
 * - after a sync of only some scopes,
 * - after a sync that skipped a stale row, because the next sync must read this row again (invariant 2),
 * - after an incremental sync, while the last full sync was inconclusive.
 *
 * If there is no watermark yet, a sync of all scopes sets it even if it skipped a stale row. Nothing is lost: without a
 * watermark, no incremental sync runs, so the newer row that was published meanwhile was read after this sync began.
 * The next incremental sync reads every later change.
 */
export function watermarkAfter({ own, sync, isPart }: RunningSync, clock: SyncClock): number | null {
  const mayAdvance = sync.stats.rowsStale === 0 && !isPart && (sync.isFull || !own.findings.isInconclusive);
  if (mayAdvance) return clock.watermarkMs;
  return own.writer.progress?.watermarkMs ?? (isPart ? null : clock.watermarkMs);
}

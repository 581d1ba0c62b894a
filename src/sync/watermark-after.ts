import type { SyncClock } from '../core/watermark.ts';
import type { RunningSync } from './sync.ts';

/**
 * The watermark after a complete sync that has read all its pages.
 *
 * It stays where it was after a sync of a part of the scopes, and after a sync that skipped a stale row, which the next
 * sync must read again (invariant 2). Incremental syncs also leave it where it was while the last full sync is
 * inconclusive.
 *
 * If there was none, a sync of all scopes sets it in any case. Without a watermark no incremental sync runs beside a full
 * sync, so no page of an incremental sync, requested before the full sync began, can have made a row stale. Whatever else made
 * it stale came later than the clock of this sync, from which the next incremental sync reads.
 */
export function watermarkAfter({ own, sync, isPart }: RunningSync, clock: SyncClock): number | null {
  const mayAdvance = sync.stats.rowsStale === 0 && !isPart && (sync.isFull || !own.findings.isInconclusive);
  if (mayAdvance) return clock.watermarkMs;
  return own.writer.progress?.watermarkMs ?? (isPart ? null : clock.watermarkMs);
}

import type { SyncMode } from '../model/progress.ts';
import { deltaReaches } from './watermark.ts';

/** What a collection does next: a pass now, or nothing until `atMs` (local clock, ms since the epoch). */
export type NextSync =
  | { readonly kind: 'pass'; readonly mode: SyncMode }
  | { readonly kind: 'wait'; readonly atMs: number };

/** Nothing that has happened lies further ahead than this, unless the clock was set back since. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

/**
 * A full pass on first start and whenever a daily one is due or was missed; else a delta every so often. A full pass
 * that failed or proved nothing waits until `fullNotBeforeMs`, and does not keep deltas from going on. What lies in the
 * future by a clock that was set back since is not waited for.
 * All times are ms since the epoch by the local clock but the watermark, which is the hub's.
 */
export function nextSync(options: {
  /** Null before the first complete full pass. */
  watermarkMs: number | null;
  lastFullAtMs: number | null;
  lastSyncAtMs: number | null;
  fullDueAtMs: number;
  fullNotBeforeMs: number;
  deltaNotBeforeMs: number;
  deltaEveryMs: number;
  /** How often a full pass comes in place of deltas; null where there are deltas, or the daily one is enough. */
  fullEveryMs: number | null;
  /** False where the hub takes no filter for the collection. */
  hasDelta: boolean;
  hubNowMs: number;
  nowMs: number;
}): NextSync {
  const { watermarkMs, lastFullAtMs, deltaEveryMs, nowMs } = options;
  const lastSyncAtMs =
    options.lastSyncAtMs !== null && options.lastSyncAtMs <= nowMs ? options.lastSyncAtMs : null;
  const canDelta = options.hasDelta && watermarkMs !== null;
  const fullAgainAtMs =
    options.fullEveryMs === null || lastSyncAtMs === null
      ? Number.POSITIVE_INFINITY
      : lastSyncAtMs + options.fullEveryMs;
  const isFullDue =
    nowMs >= fullAgainAtMs ||
    watermarkMs === null ||
    lastFullAtMs === null ||
    lastFullAtMs < options.fullDueAtMs ||
    // By the hub's clock, at first.
    lastFullAtMs > nowMs + CLOCKS_DIFFER_MS ||
    (canDelta && !deltaReaches(watermarkMs, options.hubNowMs));
  if (isFullDue && nowMs >= options.fullNotBeforeMs) return { kind: 'pass', mode: 'FULL' };
  const deltaDueAtMs = Math.max(
    lastSyncAtMs === null ? 0 : lastSyncAtMs + deltaEveryMs,
    options.deltaNotBeforeMs,
  );
  if (canDelta && nowMs >= deltaDueAtMs) return { kind: 'pass', mode: 'DELTA' };
  // In between, what is due is looked at again: the clock may be set, the daily time may come.
  // Never in the past: one that is due and may not be made yet would be looked at without end.
  const wakeAtMs = [nowMs + deltaEveryMs, Math.max(fullAgainAtMs, options.fullNotBeforeMs)];
  if (canDelta) wakeAtMs.push(deltaDueAtMs);
  if (isFullDue) wakeAtMs.push(options.fullNotBeforeMs);
  return { kind: 'wait', atMs: Math.min(...wakeAtMs) };
}

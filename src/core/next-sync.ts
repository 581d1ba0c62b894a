import type { SyncMode } from '../model/progress.ts';
import { incrementalReaches } from './watermark.ts';

/** What a collection does next: a sync now, or nothing until `atMs` (local clock, ms since the epoch). */
export type NextSync =
  | { readonly kind: 'sync'; readonly mode: SyncMode; readonly confirming: boolean }
  | { readonly kind: 'wait'; readonly atMs: number };

/** If a past event is further in the future than this, the clock has been set back since then. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

/**
 * Chooses a full sync on first start and whenever a daily one is due or was missed, otherwise an incremental sync every
 * `incrementalEveryMs`. After a full sync that failed or was inconclusive, the next one waits until `fullNotBeforeMs`, while
 * incremental syncs continue. Times that lie in the future because the clock was set back do not delay a sync.
 * All times are ms since the epoch by the local clock, except `watermarkMs` and `hubNowMs`, which are the hub's.
 */
export function nextSync(options: {
  /** Null before the first complete full sync. */
  watermarkMs: number | null;
  lastFullAtMs: number | null;
  lastSyncAtMs: number | null;
  fullDueAtMs: number;
  fullNotBeforeMs: number;
  /**
   * When the confirming sync is due; null: none is needed. If a full sync of the whole collection is due as well, only
   * that one runs.
   */
  confirmAtMs: number | null;
  incrementalNotBeforeMs: number;
  incrementalEveryMs: number;
  /** The interval of full syncs, if they replace incremental syncs; null: there are incremental syncs, or the daily full sync is enough. */
  fullEveryMs: number | null;
  /** False when the hub has no filter for the collection. */
  hasIncremental: boolean;
  hubNowMs: number;
  nowMs: number;
}): NextSync {
  const { watermarkMs, lastFullAtMs, incrementalEveryMs, nowMs } = options;
  const lastSyncAtMs =
    options.lastSyncAtMs !== null && options.lastSyncAtMs <= nowMs ? options.lastSyncAtMs : null;
  const canBeIncremental = options.hasIncremental && watermarkMs !== null;
  const fullAgainAtMs =
    options.fullEveryMs === null || lastSyncAtMs === null
      ? Number.POSITIVE_INFINITY
      : lastSyncAtMs + options.fullEveryMs;
  const isFullDue =
    nowMs >= fullAgainAtMs ||
    watermarkMs === null ||
    lastFullAtMs === null ||
    lastFullAtMs < options.fullDueAtMs ||
    // `lastFullAtMs` can come from the hub's clock.
    lastFullAtMs > nowMs + CLOCKS_DIFFER_MS ||
    (canBeIncremental && !incrementalReaches(watermarkMs, options.hubNowMs));
  const confirmDueAtMs = confirmDueAt(options.confirmAtMs, nowMs);
  if (nowMs >= options.fullNotBeforeMs) {
    if (isFullDue) return { kind: 'sync', mode: 'FULL', confirming: false };
    if (nowMs >= confirmDueAtMs) return { kind: 'sync', mode: 'FULL', confirming: true };
  }
  const incrementalDueAtMs = Math.max(
    lastSyncAtMs === null ? 0 : lastSyncAtMs + incrementalEveryMs,
    options.incrementalNotBeforeMs,
  );
  if (canBeIncremental && nowMs >= incrementalDueAtMs)
    return { kind: 'sync', mode: 'INCREMENTAL', confirming: false };
  // Check again at least every `incrementalEveryMs`, because somebody may set the clock, and because the time of the
  // daily full sync may come. Never wake in the past: if a sync is due and may not start yet, this would become a busy
  // loop.
  const wakeAtMs = [
    nowMs + incrementalEveryMs,
    Math.max(Math.min(fullAgainAtMs, confirmDueAtMs), options.fullNotBeforeMs),
  ];
  if (canBeIncremental) wakeAtMs.push(incrementalDueAtMs);
  if (isFullDue) wakeAtMs.push(options.fullNotBeforeMs);
  return { kind: 'wait', atMs: Math.min(...wakeAtMs) };
}

/**
 * When a confirming sync is due. If this is more than a day away, the clock has been set back since then, and the sync
 * is due now.
 */
function confirmDueAt(confirmAtMs: number | null, nowMs: number): number {
  if (confirmAtMs === null) return Number.POSITIVE_INFINITY;
  return confirmAtMs > nowMs + CLOCKS_DIFFER_MS ? nowMs : confirmAtMs;
}

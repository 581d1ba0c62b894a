import type { SyncMode } from '../model/progress.ts';
import { incrementalReaches } from './watermark.ts';

/** What a collection does next: a sync now, or nothing until `atMs` (local clock, ms since the epoch). */
export type NextSync =
  | { readonly kind: 'sync'; readonly mode: SyncMode; readonly confirming: boolean }
  | { readonly kind: 'wait'; readonly atMs: number };

/** A past event further in the future than this means that the clock was set back since. */
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
  /** When the confirming sync that is needed is due; null: none is. A full sync makes up for it. */
  confirmAtMs: number | null;
  incrementalNotBeforeMs: number;
  incrementalEveryMs: number;
  /** Interval of full syncs in place of incremental ones; null: there are incremental ones, or the daily one is enough. */
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
  // Check again at least every `incrementalEveryMs`: the clock can be set, the daily time can come.
  // Never wake in the past: a due sync that may not start yet would make this a busy loop.
  const wakeAtMs = [
    nowMs + incrementalEveryMs,
    Math.max(Math.min(fullAgainAtMs, confirmDueAtMs), options.fullNotBeforeMs),
  ];
  if (canBeIncremental) wakeAtMs.push(incrementalDueAtMs);
  if (isFullDue) wakeAtMs.push(options.fullNotBeforeMs);
  return { kind: 'wait', atMs: Math.min(...wakeAtMs) };
}

/** A time further away than any confirming sync is put off means that the clock was set back since: it is due. */
function confirmDueAt(confirmAtMs: number | null, nowMs: number): number {
  if (confirmAtMs === null) return Number.POSITIVE_INFINITY;
  return confirmAtMs > nowMs + CLOCKS_DIFFER_MS ? nowMs : confirmAtMs;
}

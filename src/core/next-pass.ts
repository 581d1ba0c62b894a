import type { PassMode } from '../model/progress.ts';
import { deltaReaches } from './watermark.ts';

/** What a collection does next: a pass now, or nothing until `atMs` (local clock, ms since the epoch). */
export type NextPass =
  | { readonly kind: 'pass'; readonly mode: PassMode }
  | { readonly kind: 'wait'; readonly atMs: number };

/**
 * A full pass on first start and whenever a daily one is due or was missed; else a delta every so often.
 * All times are ms since the epoch by the local clock but the watermark, which is the hub's.
 */
export function nextPass(options: {
  /** Null before the first complete full pass. */
  watermarkMs: number | null;
  lastFullAtMs: number | null;
  lastPassAtMs: number | null;
  fullDueAtMs: number;
  deltaEveryMs: number;
  /** False where the hub takes no filter for the collection. */
  hasDelta: boolean;
  hubNowMs: number;
  nowMs: number;
}): NextPass {
  const { watermarkMs, lastFullAtMs, lastPassAtMs, fullDueAtMs, deltaEveryMs, nowMs } = options;
  const dueAtMs = lastPassAtMs === null ? nowMs : lastPassAtMs + deltaEveryMs;
  const isFullDue = watermarkMs === null || lastFullAtMs === null || lastFullAtMs < fullDueAtMs;
  // A first full pass that proved nothing is no reason to ask without a pause.
  if (isFullDue && (watermarkMs !== null || dueAtMs <= nowMs)) return { kind: 'pass', mode: 'FULL' };
  if (dueAtMs > nowMs) return { kind: 'wait', atMs: dueAtMs };
  if (!options.hasDelta || watermarkMs === null) return { kind: 'wait', atMs: nowMs + deltaEveryMs };
  return { kind: 'pass', mode: deltaReaches(watermarkMs, options.hubNowMs) ? 'DELTA' : 'FULL' };
}

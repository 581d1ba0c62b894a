import { countAgrees, judgeCompleteness, type Completeness } from '../core/completeness.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import type { CollectionWriter } from './collection-writer.ts';
import type { ActiveSync } from './active-sync.ts';
import { resolveMissing } from './resolve-missing.ts';
import { countWithheld } from './withheld-deletions.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import type { SyncClock } from '../core/watermark.ts';
import type { SyncStats } from './sync-stats.ts';
import { endingOf, type SourceEnd } from './source-scan.ts';
import type { SyncResult } from './sync-result.ts';
import type { SyncParts } from './sync-parts.ts';

/** The result of a sync's scans; the writer has their rows. */
export interface Scanned {
  readonly ends: readonly SourceEnd[];
  /** Values that had content and have none now: the end of the sync decides on them. */
  readonly becameEmpty: readonly KeyedRow[];
  readonly clock: SyncClock;
}

/**
 * Ends a sync whose scans have ended: decides whether they saw everything, resolves what they did not see, and commits the
 * last transaction, which moves the watermark.
 */
export async function completeSync(
  options: {
    parts: SyncParts;
    sync: ActiveSync;
    knownRowsBefore: number;
    approved: ReadonlySet<string> | undefined;
  } & Scanned,
): Promise<SyncResult> {
  const { parts, sync, clock } = options;
  const { writer } = parts;
  const { stats } = sync;
  const doubt = whyDoubtful(options.ends);
  // A row skipped as stale may have been the newer one: it must be read again (invariant 2).
  const reached = writer.progress?.watermarkMs ?? clock.watermarkMs;
  const mayAdvance = stats.rowsStale === 0 && (sync.seen !== null || !parts.findings.isInconclusive);
  const watermarkMs = mayAdvance ? clock.watermarkMs : reached;
  if (sync.seen === null) {
    if (doubt !== null) {
      await writer.flush(sync);
      return { kind: 'inconclusive', stats, why: doubt, withheld: 0 };
    }
    const { memory, collection } = parts.deletions;
    stats.rowsWithheld = await countWithheld(memory, collection, writer.progress);
    await writer.flush(sync, { watermarkMs, lastCompleteFull: null });
    parts.late.endIncremental(stats.startedAtMs);
    return { kind: 'complete', stats, withheld: stats.rowsWithheld, wantsSecondSync: false };
  }
  const completeness = judge(options, sync.seen);
  const resolved = await resolveMissing(parts.deletions, sync, {
    completeness,
    knownRowsBefore: options.knownRowsBefore,
    becameEmpty: options.becameEmpty,
    approved: options.approved,
  });
  const { withheld, wantsSecondSync, approvedGone, remember } = resolved;
  stats.rowsWithheld = withheld;
  const isEmpty = completeness.kind === 'unproven' && completeness.isEmpty === true;
  // Once a person has approved the removal of all rows, an answer without rows is right.
  const isBelieved = isEmpty && writer.known.wantedRows === 0;
  const isInconclusive = completeness.kind === 'unproven' && completeness.isInconclusive && !isBelieved;
  const why = doubt ?? (isInconclusive ? completeness.why : null);
  parts.findings.noteFullSync({ isInconclusive: why !== null });
  if (why !== null) {
    await writer.flush(sync, 'incomplete');
    await remember();
    return { kind: 'inconclusive', stats, why, withheld, isListed: isEmpty && withheld > 0, approvedGone };
  }
  // An offset scan may have skipped an existing row, unless the count agrees.
  const byOffset = options.ends.some(({ paging }) => paging === 'offset');
  if (!byOffset || countAgrees({ ...stats, distinctRows: sync.seen.size })) await clearRejects(writer, sync);
  await writer.flush(sync, {
    watermarkMs,
    lastCompleteFull: {
      passId: stats.passId,
      startedAtMs: stats.startedAtMs,
      // Readable rows only; rejected ones have a number of their own.
      rows: sync.seen.size - (sync.seenRejects?.size ?? 0) + stats.rowsWithoutId,
      rowsRejected: stats.rowsRejected,
      rowsWithheld: withheld,
    },
  });
  await remember();
  await noteLate(parts, stats);
  const wantsOthersFirst = resolved.isMany === true;
  return { kind: 'complete', stats, withheld, wantsSecondSync, wantsOthersFirst, approvedGone };
}

/** Stores for `status` what the full sync shows about the overlap, if it shows anything. */
async function noteLate(
  { late, deletions, findings, now, overlapMs }: SyncParts,
  stats: SyncStats,
): Promise<void> {
  const { startedAtMs } = stats;
  stats.late = late.endFull({ startedAtMs, endedAtMs: findings.hubTimeMs(now()) });
  if (stats.late !== null) await deletions.memory.setLate(deletions.collection, { ...stats.late, overlapMs });
}

function judge(
  options: { sync: ActiveSync; knownRowsBefore: number } & Scanned,
  seen: SeenKeys,
): Completeness {
  const { ends, sync } = options;
  return judgeCompleteness({
    ending: endingOf(ends),
    // An empty answer for one parent of several is as inconclusive as a row skipped by an offset scan.
    byOffset: ends.some(
      ({ paging, reason }) => paging === 'offset' || (reason === 'no-rows' && ends.length > 1),
    ),
    distinctRows: seen.size,
    rowsWithoutId: sync.stats.rowsWithoutId,
    totalAtStart: sync.stats.totalAtStart,
    totalAtEnd: sync.stats.totalAtEnd,
    knownRows: options.knownRowsBefore,
  });
}

/** Why an ended scan is inconclusive; null when it is not. */
function whyDoubtful(ends: readonly SourceEnd[]): string | null {
  const ending = endingOf(ends);
  if (ending === 'no-list') return 'a response had no list';
  return ending === 'repeated' ? 'the hub keeps returning the same page' : null;
}

/** Removes the rejects of unreadable rows that have left the hub, or have other content now. */
async function clearRejects(writer: CollectionWriter, sync: ActiveSync): Promise<void> {
  if (writer.known.rejects === 0 || sync.seenRejects === null) return;
  const gone = await writer.known.unseen('rejects', sync);
  await writer.remove(sync, 'rejects', gone.keys);
}

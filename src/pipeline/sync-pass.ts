import { countAgrees, judgeCompleteness, type Completeness, type FullScan } from '../core/completeness.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import { isFromHub } from '../errors.ts';
import type { SyncMode } from '../model/progress.ts';
import type { CollectionWriter } from './collection-writer.ts';
import type { SyncOptions } from './sync-runner.ts';
import type { ActiveSync } from './active-sync.ts';
import { resolveMissing } from './deletions.ts';
import { countWithheld } from './withholding.ts';
import { readScans, type Scanned } from './read-scans.ts';
import { newSyncStats, type SyncStats } from './sync-stats.ts';
import type { SourceEnd } from './source-page.ts';
import type { SyncResult } from './sync-result.ts';
import type { SyncParts } from './sync-parts.ts';

/** Reads a collection once, whole or since the watermark, and publishes what changed. Throws what the hub throws. */
export async function runSync(
  parts: SyncParts,
  mode: SyncMode,
  { signal, acceptNew = false, approved, republication }: SyncOptions & { readonly signal: AbortSignal },
): Promise<SyncResult> {
  const { writer, identity } = parts;
  const { collection } = parts.deletions;
  if (acceptNew) await identity?.clear(collection);
  // One that came with other rows itself must be read to tell when its own are back.
  else if (identity?.isFlagged(collection) === false) await identity.require(collection);
  const localStartMs = parts.now();
  const stats = newSyncStats({ passId: parts.randomId(), mode, startedAtMs: localStartMs });
  const isFull = mode === 'FULL';
  const sync: ActiveSync = {
    stats,
    seen: isFull ? new SeenKeys(seedFrom(stats.passId)) : null,
    met: isFull ? undefined : new SeenKeys(seedFrom(stats.passId)),
    seenByOthers: isFull ? new SeenKeys(seedFrom(stats.passId)) : null,
    seenRejects: isFull ? new SeenKeys(seedFrom(stats.passId)) : null,
    readVersion: writer.readVersion(),
    republication,
    // What is published again on request is not new.
    onNew:
      isFull && republication === undefined ? (key, stampMs) => parts.late.noteNew(key, stampMs) : undefined,
  };
  if (isFull) parts.late.beginFull(writer.progress?.watermarkMs ?? null);
  writer.begin(sync);
  try {
    const knownRowsBefore = await writer.countWanted();
    if (isFull) await parts.requireRecords();
    const scanned = await readScans({ parts, sync, knownRowsBefore, acceptNew, localStartMs, signal });
    if (scanned === 'wholesale') return { kind: 'wholesale', stats };
    return await complete({ parts, sync, knownRowsBefore, approved, ...scanned });
  } catch (error) {
    // What was read before the hub failed is as good as ever, and should not wait for the next pass.
    if (isFromHub(error)) {
      await writer.flush(sync, error.code === 'HUB_FOREIGN_DATA' ? 'incomplete' : null);
    }
    throw error;
  } finally {
    writer.end(sync);
  }
}

async function complete(
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
  // A row passed over as the older one may have been the newer: it must be read again (invariant 2).
  const reached = writer.progress?.watermarkMs ?? clock.watermarkMs;
  const mayAdvance = stats.rowsStale === 0 && (sync.seen !== null || !parts.trust.isInconclusive);
  const watermarkMs = mayAdvance ? clock.watermarkMs : reached;
  if (sync.seen === null) {
    if (doubt !== null) {
      await writer.flush(sync);
      return { kind: 'suspect', stats, why: doubt, withheld: 0 };
    }
    const { memory, collection } = parts.deletions;
    stats.rowsWithheld = await countWithheld(memory, collection, writer.progress);
    await writer.flush(sync, { watermarkMs, lastCompleteFull: null });
    parts.late.endDelta(stats.startedAtMs);
    return { kind: 'complete', stats, withheld: stats.rowsWithheld, wantsSecondSync: false };
  }
  const completeness = judge(options, sync.seen);
  const settled = await resolveMissing(parts.deletions, sync, {
    completeness,
    knownRowsBefore: options.knownRowsBefore,
    becameEmpty: options.becameEmpty,
    approved: options.approved,
  });
  const { withheld, wantsSecondSync, approvedGone, empty, remember } = settled;
  stats.rowsWithheld = withheld;
  const isBelieved = empty === 'approved';
  const isInconclusive = completeness.kind === 'unproven' && completeness.isInconclusive && !isBelieved;
  const why = doubt ?? (isInconclusive ? completeness.why : null);
  parts.trust.isInconclusive = why !== null;
  if (why !== null) {
    await writer.flush(sync, 'incomplete');
    await remember();
    return { kind: 'suspect', stats, why, withheld, isListed: empty === 'listed', approvedGone };
  }
  // An offset walk may have skipped a row that is still there, unless the count says otherwise.
  const byOffset = options.ends.some(({ paging }) => paging === 'offset');
  if (!byOffset || countAgrees({ ...stats, distinctRows: sync.seen.size })) await clearRejects(writer, sync);
  await writer.flush(sync, {
    watermarkMs,
    isProven: completeness.kind === 'proven' || isBelieved,
    lastCompleteFull: {
      passId: stats.passId,
      startedAtMs: stats.startedAtMs,
      // Of the rows that could be read: those rejected are counted beside.
      rows: sync.seen.size - (sync.seenRejects?.size ?? 0) + stats.rowsWithoutId,
      rowsRejected: stats.rowsRejected,
      rowsWithheld: withheld,
    },
  });
  await remember();
  await noteLate(parts, stats);
  const wantsOthersFirst = settled.isMany === true;
  return { kind: 'complete', stats, withheld, wantsSecondSync, wantsOthersFirst, approvedGone };
}

/** What the full pass says of the overlap; remembered for `status` where it says anything. */
async function noteLate(
  { late, deletions, clock, now, overlapMs }: SyncParts,
  stats: SyncStats,
): Promise<void> {
  const { startedAtMs } = stats;
  stats.late = late.endFull({ startedAtMs, endedAtMs: now() + (clock.skewMs ?? 0) });
  if (stats.late !== null) await deletions.memory.setLate(deletions.collection, { ...stats.late, overlapMs });
}

function judge(
  options: { sync: ActiveSync; knownRowsBefore: number } & Scanned,
  seen: SeenKeys,
): Completeness {
  const { ends, sync } = options;
  return judgeCompleteness({
    ending: endingOf(ends),
    // An empty answer for one parent of several is as doubtful as a row skipped by an offset walk.
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

function endingOf(ends: readonly SourceEnd[]): FullScan['ending'] {
  if (ends.some(({ reason }) => reason === 'missing-list')) return 'no-list';
  if (ends.some(({ reason }) => reason === 'repeated-page')) return 'repeated';
  if (!ends.every(({ reason }) => reason === 'no-rows')) return 'hub-sign';
  return ends.some(({ isGone }) => isGone === true) ? 'gone' : 'empty';
}

/** Why a walk that ended says nothing of what the hub holds; null when it does. */
function whyDoubtful(ends: readonly SourceEnd[]): string | null {
  const ending = endingOf(ends);
  if (ending === 'no-list') return 'a response had no list';
  return ending === 'repeated' ? 'the hub keeps returning the same page' : null;
}

/** Rows that could not be read and have left the hub, or read again under another content. */
async function clearRejects(writer: CollectionWriter, sync: ActiveSync): Promise<void> {
  if (writer.knownRejects === 0 || sync.seenRejects === null) return;
  const gone = await writer.unseen('rejects', sync);
  await writer.remove(sync, 'rejects', gone.keys);
}

/** A 32-bit seed out of a random id's hexadecimal digits. */
function seedFrom(passId: string): number {
  return Number.parseInt(passId.replaceAll('-', '').slice(0, 8), 16) | 0;
}

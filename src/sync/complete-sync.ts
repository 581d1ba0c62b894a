import { judgeScope, hasAgreed, type ScanEvidence } from '../core/deletions/evidence.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import { hasSeen, type ActiveSync } from '../table/active-sync.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import type { SyncClock } from '../core/watermark.ts';
import { settleMissing, type Rows } from './settle-missing.ts';
import type { SyncResult } from './sync-result.ts';
import type { Approved } from './sync-result.ts';
import type { MirroredCollection } from './mirrored-collection.ts';

/** The result of a sync's scans; the writer has their rows. */
export interface Scanned {
  readonly scans: readonly ScanEvidence[];
  /** The scopes of the collection, those included that a confirming sync does not read. */
  readonly scopes: ReadonlySet<string>;
  /** Values that had content and have none now: the end of the sync decides on them. */
  readonly becameEmpty: readonly KeyedRow[];
  readonly clock: SyncClock;
}

interface CompleteOptions extends Scanned {
  readonly parts: MirroredCollection;
  readonly sync: ActiveSync;
  readonly isConfirming: boolean;
  readonly knownRowsBefore: number;
  readonly approved: Approved | undefined;
}

/**
 * Ends a sync whose scans have ended: decides whether they saw everything, settles what they did not see, and commits the
 * last transaction, which moves the watermark.
 */
export async function completeSync(options: CompleteOptions): Promise<SyncResult> {
  const { parts, sync, clock, scans } = options;
  const { writer } = parts;
  const { stats } = sync;
  stats.totalAtStart = sumOrNull(scans.map(({ totalAtStart }) => totalAtStart));
  stats.totalAtEnd = sumOrNull(scans.map(({ totalAtEnd }) => totalAtEnd));
  // A row skipped as stale may have been the newer one: it must be read again (invariant 2).
  const reached = writer.progress?.watermarkMs ?? clock.watermarkMs;
  const isPart = scans.length < options.scopes.size;
  const mayAdvance =
    stats.rowsStale === 0 && !isPart && (sync.seen !== null || !parts.findings.isInconclusive);
  const watermarkMs = mayAdvance ? clock.watermarkMs : reached;
  if (sync.seen === null) return completeIncremental(options, watermarkMs);
  const settled = await settleMissing(parts.settling, endedScans(options), rowsOf(options, sync));
  const { inconclusive: why, short, unconfirmed, confirmAtMs, approved, remember } = settled;
  const { rowsWithheld: withheld } = writer.committed.settled;
  parts.findings.noteFullSync({ isInconclusive: why !== null, scans, isConfirming: options.isConfirming });
  if (why !== null) {
    await writer.flush(sync, 'incomplete');
    await remember();
    return { kind: 'inconclusive', stats, why, withheld, short, confirmAtMs, approvedGone: approved };
  }
  if (!isPart && mayClearRejects(scans)) await clearRejects(writer, sync);
  await writer.flush(sync, {
    watermarkMs,
    lastCompleteFull: isPart
      ? null
      : {
          syncId: stats.syncId,
          startedAtMs: stats.startedAtMs,
          // Readable rows only; rejected ones have a number of their own.
          rows: sync.seen.size - (sync.seenRejects?.size ?? 0) + stats.rowsWithoutId,
          rowsRejected: stats.rowsRejected,
          rowsWithheld: withheld,
        },
  });
  await remember();
  const { startedAtMs } = stats;
  if (!isPart)
    stats.late = parts.late.endFull({ startedAtMs, endedAtMs: parts.findings.hubTimeMs(parts.now()) });
  return { kind: 'complete', stats, withheld, short, unconfirmed, confirmAtMs, approvedGone: approved };
}

/** The sum of the hub's totals of several lists; null when one of them is unknown. */
function sumOrNull(totals: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const total of totals) {
    if (total === null) return null;
    sum += total;
  }
  return sum;
}

/** A short incremental sync leaves the watermark; a full one finds what it passed over. */
async function completeIncremental(
  { parts, sync, scans }: CompleteOptions,
  watermarkMs: number,
): Promise<SyncResult> {
  const { writer, findings } = parts;
  const { stats } = sync;
  const { rowsWithheld: withheld } = writer.committed.settled;
  const doubt = scans.map(judgeScope).find((verdict) => verdict.kind === 'inconclusive' && !verdict.isUnread);
  if (doubt?.kind === 'inconclusive') {
    await writer.flush(sync);
    const nothing = { short: null, confirmAtMs: null };
    return { kind: 'inconclusive', stats, why: doubt.why, withheld, ...nothing };
  }
  if (scans.some((scan) => findings.isShortIncremental(scan))) {
    await writer.flush(sync);
    return { kind: 'becomes-full', because: 'short', stats };
  }
  const hasNews = writer.hasPending || writer.progress?.syncId === stats.syncId;
  // Without a watermark that moves on, there is nothing to record.
  if (hasNews || parts.source.changes === undefined)
    await writer.flush(sync, { watermarkMs, lastCompleteFull: null });
  parts.late.endIncremental(stats.startedAtMs);
  return { kind: 'complete', stats, withheld, short: null, unconfirmed: 0, confirmAtMs: null };
}

function endedScans(options: CompleteOptions): Parameters<typeof settleMissing>[1] {
  const { parts, sync, scans, scopes, approved } = options;
  return {
    syncId: sync.stats.syncId,
    isConfirming: options.isConfirming,
    verdicts: new Map(scans.map((scan) => [scan.scope, judgeScope(scan)])),
    scopeOf: (key) => parts.source.scopeOf(key),
    exists: (scope) => scopes.has(scope),
    becameEmpty: options.becameEmpty,
    approval: approved ?? null,
    before: parts.writer.committed.settled.deletions,
  };
}

function rowsOf({ parts, knownRowsBefore, becameEmpty }: CompleteOptions, sync: ActiveSync): Rows {
  const { writer } = parts;
  const { day, removed = 0 } = writer.progress?.deletions ?? {};
  const removedToday = day === parts.settling.today() ? removed : 0;
  return {
    // Values that became empty today are still rows.
    known: becameEmpty.length === 0 ? knownRowsBefore : Math.max(0, knownRowsBefore - removedToday),
    unseen: async (test) =>
      writer.known.areAllSeen(sync) ? { keys: [], count: 0 } : writer.known.unseen('rows', sync, test),
    isSeen: (key) => hasSeen(sync, 'rows', key),
    note(state, withheld) {
      writer.committed.settle(state, withheld);
      sync.stats.rowsWithheld = withheld;
    },
    remove: (keys) => writer.remove(sync, 'rows', keys),
    async publish(rows) {
      if (rows.length > 0) await writer.publish(sync, rows);
    },
  };
}

/** An offset scan may have skipped an existing row, unless the count agrees, or there was none to move. */
function mayClearRejects(scans: readonly ScanEvidence[]): boolean {
  return scans.every(
    (scan) =>
      scan.ending === 'proper' &&
      judgeScope(scan).kind !== 'short' &&
      (!scan.byOffset || scan.distinctRows === 0 || hasAgreed(scan)),
  );
}

/** Removes the rejects of unreadable rows that have left the hub, or have other content now. */
async function clearRejects(writer: CollectionWriter, sync: ActiveSync): Promise<void> {
  if (writer.known.rejects === 0 || sync.seenRejects === null) return;
  const gone = await writer.known.unseen('rejects', sync);
  await writer.remove(sync, 'rejects', gone.keys);
}

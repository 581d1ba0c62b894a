import { hasAgreed, verdictOn, type ScanEvidence } from '../core/deletions/evidence.ts';
import { isoOrNull } from '../core/words.ts';
import type { Settlement } from '../table/deletions.ts';
import { settleMissing } from './settle-missing.ts';
import type { MirroredCollection, RunningSync, Scanned } from './sync.ts';
import type { SyncResult } from './sync-result.ts';
import { watermarkAfter } from './watermark-after.ts';

/**
 * Ends a full sync after its scans: decides whether they saw everything, settles the rows that they missed, and commits
 * the last transaction, which moves the watermark if the sync is complete.
 */
export async function completeFull(run: RunningSync, { scans, clock }: Scanned): Promise<SyncResult> {
  const { own, sync, isPart } = run;
  const { writer, deletions, findings, pages } = own;
  const { stats } = sync;
  // This is decided first, because an incremental sync that ends meanwhile may move the watermark.
  const watermarkMs = watermarkAfter(run, clock);
  // Rows came, and none of their pages was stopped as possibly another tenant's (tenant-identity.ts).
  if (stats.rowsSeen > 0) deletions.noteOwn();
  const { whyInconclusive: why, short, settlement } = await settleMissing(run, scans);
  // A sync of only some scopes says nothing about the others. So if the last full sync was inconclusive, this stays so.
  const isInconclusive = why !== null || (isPart && findings.isInconclusive);
  // This comes before the commit: after an inconclusive full sync, no incremental sync moves the watermark, not even one
  // that ends during the commit.
  findings.noteFullSync({ isInconclusive, scans, isConfirming: run.options.confirming === true });
  if (why === null && !isPart) await clearRejects(run, scans);
  const complete = { kind: 'complete', watermarkMs, isWhole: !isPart } as const;
  await writer.flush(sync, why === null ? complete : { kind: 'incomplete' });
  if (why === null && run.pagesSince !== undefined) pages?.endFull(run.pagesSince);
  if (settlement !== null) reportMissing(own, settlement);
  const { confirmAtMs = null, unconfirmed = 0 } = settlement ?? {};
  const approvedGone = run.options.approved === undefined ? null : (settlement?.approvedGone ?? null);
  const rowsOnHold = writer.progress?.rowsOnHold ?? 0;
  const ended = { stats, rowsOnHold, short, confirmAtMs, approvedGone };
  return why === null ? { kind: 'complete', ...ended, unconfirmed } : { kind: 'inconclusive', ...ended, why };
}

/** Reports the rows that are removed once another full sync misses them, too. During a hold, there are none. */
function reportMissing({ tenant, settings }: MirroredCollection, settlement: Settlement): void {
  const { unconfirmed: rows, mayRemove, confirmAtMs } = settlement;
  if (rows === 0 || !mayRemove) return;
  const event = { kind: 'missing', collection: settings.name, rows } as const;
  tenant.emit({ type: 'deletion', event: { ...event, confirmAt: isoOrNull(confirmAtMs) } });
}

/**
 * Whether the scan cannot have skipped an existing row. A scan by offset may have skipped a row that moved, unless it
 * brought as many rows as the hub counts, or none.
 */
function mayClearRejects(scan: ScanEvidence): boolean {
  const { kind } = verdictOn(scan);
  const hasSkippedNone = scan.paging !== 'offset' || scan.distinctRows === 0 || hasAgreed(scan);
  return kind !== 'inconclusive' && kind !== 'short' && hasSkippedNone;
}

/**
 * Removes rejects that the sync did not meet again, because their rows have left the hub or have other content. Rejects
 * of scopes in doubt stay.
 */
async function clearRejects({ own, sync }: RunningSync, scans: readonly ScanEvidence[]): Promise<void> {
  const { writer, source } = own;
  if (writer.known.rejects === 0) return;
  const inDoubt = new Set(scans.filter((scan) => !mayClearRejects(scan)).map(({ scope }) => scope));
  const isClear = (key: string): boolean => !inDoubt.has(source.scopeOf(key));
  const gone = await writer.read((table) => table.unseen('rejects', sync, isClear));
  await writer.remove(sync, 'rejects', gone.keys);
}

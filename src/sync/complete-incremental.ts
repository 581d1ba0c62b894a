import { verdictOn } from '../core/deletions/evidence.ts';
import type { RunningSync, Scanned } from './sync.ts';
import type { ReplacedSync, SyncResult } from './sync-result.ts';
import { watermarkAfter } from './watermark-after.ts';

/**
 * Ends an incremental sync after its scans. If a scan was short, the watermark stays, and a full sync finds the rows
 * that the scan left out.
 */
export async function completeIncremental(
  run: RunningSync,
  { scans, clock }: Scanned,
): Promise<SyncResult | ReplacedSync> {
  const { own, sync } = run;
  const { writer, findings } = own;
  const { stats } = sync;
  const watermarkMs = watermarkAfter(run, clock);
  if (stats.rowsSeen > 0) findings.hasIncrementalBrought = true;
  const { rowsOnHold = 0 } = writer.progress ?? {};
  const doubt = scans.map(verdictOn).find((verdict) => verdict.kind === 'inconclusive' && !verdict.isUnread);
  if (doubt?.kind === 'inconclusive') {
    // The end of the sync is not recorded, so that the next sync reads from the same watermark.
    await writer.flush(sync);
    return { kind: 'inconclusive', stats, why: doubt.why, rowsOnHold, short: null, confirmAtMs: null };
  }
  if (scans.some((scan) => findings.isShortIncremental(scan))) {
    await writer.flush(sync);
    return { kind: 'becomes-full', why: 'short', stats };
  }
  const hasNews = writer.hasPending || writer.progress?.syncId === stats.syncId;
  const readsByTime = own.source.changedScopes === undefined;
  // A sync of changed scopes needs no watermark, so it is recorded only if it has published something.
  if (hasNews || readsByTime) await writer.flush(sync, { kind: 'complete', watermarkMs, isWhole: false });
  return { kind: 'complete', stats, rowsOnHold, short: null, unconfirmed: 0, confirmAtMs: null };
}

import { hasAgreed, judgeScope, type ScanEvidence } from '../core/deletions/evidence.ts';
import { Verdicts, type SyncVerdict } from '../core/deletions/verdicts.ts';
import { isOtherOnHold } from '../core/deletions/waiting-list.ts';
import { localDate } from '../core/full-sync-time.ts';
import { isoOrNull } from '../core/words.ts';
import { hasSeen } from '../table/active-sync.ts';
import type { Settled } from '../table/deletions.ts';
import type { FoundKeys, Table } from '../table/table.ts';
import type { MirroredCollection, RunningSync, Scanned } from './sync.ts';
import type { SyncResult } from './sync-result.ts';

/**
 * Ends a full sync whose scans have ended: decides whether they saw everything, settles what they missed, and commits the last
 * transaction, which moves the watermark.
 */
export async function completeFull(run: RunningSync, { scans, watermarkMs }: Scanned): Promise<SyncResult> {
  const { own, sync } = run;
  const { writer, deletions, findings } = own;
  const { stats } = sync;
  const isPart = scans.length < run.reading.scopes.size;
  // Rows came, and every page was accepted.
  if (stats.rowsSeen > 0) deletions.noteForeign(null);
  const { inconclusive: why, short, settled } = await settleMissing(run, scans);
  // A sync of some scopes says nothing about the others.
  const isInconclusive = why !== null || (isPart && findings.isInconclusive);
  findings.noteFullSync({ isInconclusive, scans, isConfirming: run.options.confirming === true });
  if (why === null && !isPart) await clearRejects(run, scans);
  await writer.flush(sync, why === null ? { watermarkMs, isWhole: !isPart } : 'incomplete');
  if (settled !== null) reportMissing(own, settled);
  const { confirmAtMs = null, unconfirmed = 0 } = settled ?? {};
  const approvedGone = run.options.approved === undefined ? null : (settled?.approved ?? null);
  const ended = { stats, rowsOnHold: deletions.rowsOnHold, short, confirmAtMs, approvedGone };
  return why === null ? { kind: 'complete', ...ended, unconfirmed } : { kind: 'inconclusive', ...ended, why };
}

/** Whether a full sync is complete, and what has become of the missing rows; null: the sync settled nothing. */
type JudgedSync = SyncVerdict & { readonly settled: Settled | null };

/** Judges a full sync whose scans have ended, and stages the removals. The rest is remembered after its last commit. */
async function settleMissing(run: RunningSync, scans: readonly ScanEvidence[]): Promise<JudgedSync> {
  const { own, reading } = run;
  const verdicts = new Verdicts(scans, reading.scopes, (key) => own.source.scopeOf(key));
  // Both run in one task of the writer, so that no other sync sees a row between the search and the judgement.
  const judged = await own.writer.read((table) => judge(run, verdicts, table));
  if (judged.settled !== null) await stageRemovals(run, judged.settled);
  return judged;
}

async function judge(run: RunningSync, verdicts: Verdicts, table: Table): Promise<JudgedSync> {
  const { own, sync, options, becameEmpty } = run;
  const { tenant, deletions, settings } = own;
  const { found, inDoubt } = await findMissing(run, verdicts, table);
  sync.stats.rowsNotFound = found.count + inDoubt + becameEmpty.size;
  const atMs = tenant.runtime.now();
  const day = localDate(atMs, settings.fullSync.timeZone);
  // Values that became empty today are still rows.
  const removed = becameEmpty.size === 0 ? 0 : deletions.removedOn(day);
  const known = Math.max(0, run.knownRowsBefore - removed);
  const foreign = sync.stats.rowsNotFound > 0 ? foreignBeside(own) : null;
  if (foreign !== null) return { inconclusive: foreign, short: null, settled: null };
  const verdict = verdicts.judge({ unseen: found.keys, known });
  if (!verdicts.settles(deletions.isListLost)) return { ...verdict, settled: null };
  const settled = deletions.judge({
    syncId: sync.stats.syncId,
    atMs,
    day,
    wasSeen: (key) => hasSeen(sync, 'rows', key) && !becameEmpty.has(key),
    counts: verdicts.counts,
    missed: [...found.keys, ...becameEmpty.keys()].filter(verdicts.counts),
    unlisted: found.count - found.keys.length,
    missesNeeded: verdicts.missesNeeded,
    isOtherOnHold: isOtherOnHoldBeside(own),
    short: verdict.short && { ...verdict.short, isCovered: verdict.inconclusive === null },
    approved: options.approved ?? null,
    known,
    limits: tenant.guard,
    confirmAtMs: options.confirming === true ? null : atMs + tenant.confirmAfterMs,
    confirmsAll: verdict.short !== null || run.answers.mayHaveMore,
  });
  return { ...verdict, settled };
}

/** The rows that the sync did not find, except for those in doubt, which are only counted. */
async function findMissing({ sync, becameEmpty }: RunningSync, verdicts: Verdicts, table: Table) {
  const { counts, isShort } = verdicts;
  const unseen = (test: (key: string) => boolean): Promise<FoundKeys> =>
    table.unseen('rows', sync, (key) => !becameEmpty.has(key) && test(key));
  const inDoubt = verdicts.hasDoubt ? (await unseen((key) => !counts(key) && !isShort(key))).count : 0;
  return { found: await unseen((key) => counts(key) || isShort(key)), inDoubt };
}

/** While the rows of another collection may be another tenant's, a row that the hub does not show proves nothing. */
function foreignBeside(own: MirroredCollection): string | null {
  const [foreign] = [...own.all].find(([, each]) => each !== own && each.deletions.isForeign) ?? [];
  return foreign === undefined
    ? null
    : `the hub may be another tenant's: it shows hardly any published row of ${foreign} (HUB_FOREIGN_DATA)`;
}

/** Whether another collection's hold keeps the removals of this one. */
function isOtherOnHoldBeside({ settings, all }: MirroredCollection): boolean {
  const known = [...all].map(([collection, { deletions }]) => ({
    collection,
    onHoldSinceMs: deletions.onHoldSinceMs,
  }));
  return isOtherOnHold(settings.name, known);
}

async function stageRemovals({ own, sync, becameEmpty }: RunningSync, settled: Settled): Promise<void> {
  const { remove, rowsOnHold } = settled;
  sync.stats.rowsOnHold = rowsOnHold;
  sync.stats.rowsNotFound -= remove.length;
  const emptied = remove.flatMap((key) => becameEmpty.get(key) ?? []);
  if (emptied.length > 0) await own.writer.publish(sync, emptied);
  const gone = remove.filter((key) => !becameEmpty.has(key));
  await own.writer.remove(sync, 'rows', gone);
}

/** Reports rows that are removed if another sync misses them, too. During a hold, a second miss removes nothing either. */
function reportMissing({ tenant, settings }: MirroredCollection, settled: Settled): void {
  const { unconfirmed: rows, isFree, confirmAtMs } = settled;
  if (rows === 0 || !isFree) return;
  const event = { kind: 'missing', collection: settings.name, rows } as const;
  tenant.emit({ type: 'deletion', event: { ...event, confirmAt: isoOrNull(confirmAtMs) } });
}

/**
 * Whether the scan cannot have skipped an existing row. A scan by offset may have, unless its number of rows agreed
 * with a total, or there was no row to move.
 */
function mayClearRejects(scan: ScanEvidence): boolean {
  const hasSkippedNone = !scan.byOffset || scan.distinctRows === 0 || hasAgreed(scan);
  return scan.ending === 'proper' && judgeScope(scan).kind !== 'short' && hasSkippedNone;
}

/** Removes the rejects of unreadable rows that have left the hub, or that have other content now. Rejects of scopes in doubt stay. */
async function clearRejects({ own, sync }: RunningSync, scans: readonly ScanEvidence[]): Promise<void> {
  const { writer, source } = own;
  if (writer.known.rejects === 0) return;
  const inDoubt = new Set(scans.filter((scan) => !mayClearRejects(scan)).map(({ scope }) => scope));
  const isClear = (key: string): boolean => !inDoubt.has(source.scopeOf(key));
  const gone = await writer.read((table) => table.unseen('rejects', sync, isClear));
  await writer.remove(sync, 'rejects', gone.keys);
}

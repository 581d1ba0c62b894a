import { hasAgreed, verdictOn, type ScanEvidence } from '../core/deletions/evidence.ts';
import { Verdicts, type SyncVerdict } from '../core/deletions/verdicts.ts';
import { isOtherOnHold } from '../core/deletions/waiting-list.ts';
import { localDate } from '../core/daily-time.ts';
import { isoOrNull } from '../core/words.ts';
import { hasSeen } from '../table/active-sync.ts';
import type { Settlement } from '../table/deletions.ts';
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
  const { whyInconclusive: why, short, settlement } = await settleMissing(run, scans);
  // A sync of some scopes says nothing about the others.
  const isInconclusive = why !== null || (isPart && findings.isInconclusive);
  // Before the commit: an incremental sync that ends meanwhile must not move the watermark if this sync proves nothing.
  findings.noteFullSync({ isInconclusive, scans, isConfirming: run.options.confirming === true });
  if (why === null && !isPart) await clearRejects(run, scans);
  await writer.flush(sync, why === null ? { watermarkMs, isWhole: !isPart } : 'incomplete');
  if (settlement !== null) reportMissing(own, settlement);
  const { confirmAtMs = null, unconfirmed = 0 } = settlement ?? {};
  const approvedGone = run.options.approved === undefined ? null : (settlement?.approvedGone ?? null);
  const ended = { stats, rowsOnHold: deletions.rowsOnHold, short, confirmAtMs, approvedGone };
  return why === null ? { kind: 'complete', ...ended, unconfirmed } : { kind: 'inconclusive', ...ended, why };
}

/**
 * What a full sync proves. `notFound`: number of published rows that it did not find, those to be removed included.
 * `settlement`: what has become of the missing rows; null: the sync settled nothing.
 */
type FullSyncEnd = SyncVerdict & { readonly notFound: number; readonly settlement: Settlement | null };

/** Settles what a full sync missed, and stages the removals. Rows that wait are remembered after its last commit. */
async function settleMissing(run: RunningSync, scans: readonly ScanEvidence[]): Promise<FullSyncEnd> {
  const { own, sync, reading } = run;
  const verdicts = new Verdicts(scans, reading.scopes, (key) => own.source.scopeOf(key));
  // One task of the writer, so that no other sync sees a row between the search for missing rows and their settlement.
  const end = await own.writer.read((table) => findAndSettle(run, verdicts, table));
  sync.stats.rowsNotFound = end.notFound - (end.settlement?.remove.length ?? 0);
  if (end.settlement !== null) await stageRemovals(run, end.settlement);
  return end;
}

async function findAndSettle(run: RunningSync, verdicts: Verdicts, table: Table): Promise<FullSyncEnd> {
  const { own, sync, options, becameEmpty } = run;
  const { tenant, deletions, settings } = own;
  const { unseen, inDoubt } = await findUnseen(run, verdicts, table);
  const notFound = unseen.count + inDoubt + becameEmpty.size;
  const foreign = notFound > 0 ? foreignBeside(own) : null;
  if (foreign !== null) return { whyInconclusive: foreign, short: null, notFound, settlement: null };
  const atMs = tenant.runtime.now();
  const day = localDate(atMs, settings.fullSync.timeZone);
  const known = knownBefore(run, day);
  const verdict = verdicts.ofSync({ unseen: unseen.keys, known });
  if (!verdicts.provesAnything(deletions.isListLost)) return { ...verdict, notFound, settlement: null };
  const settlement = deletions.settle({
    syncId: sync.stats.syncId,
    atMs,
    day,
    wasSeen: (key) => hasSeen(sync, 'rows', key) && !becameEmpty.has(key),
    counts: verdicts.counts,
    // An unseen row of a short scope is not missed: it only helps to decide whether the sync is complete.
    missed: [...unseen.keys, ...becameEmpty.keys()].filter(verdicts.counts),
    unlisted: unseen.count - unseen.keys.length,
    missesNeeded: verdicts.missesNeeded,
    isOtherOnHold: isOtherOnHoldBeside(own),
    short: verdict.short && { ...verdict.short, isCovered: verdict.whyInconclusive === null },
    approved: options.approved ?? null,
    known,
    limits: tenant.guard,
    confirmAtMs: options.confirming === true ? null : atMs + tenant.confirmAfterMs,
    confirmsAll: verdict.short !== null || run.answers.mayHaveMore,
  });
  return { ...verdict, notFound, settlement };
}

/** The rows that the sync did not see, of complete and of short scopes. `inDoubt`: the number of those of other scopes. */
async function findUnseen({ sync, becameEmpty }: RunningSync, verdicts: Verdicts, table: Table) {
  const { counts, isShort } = verdicts;
  const find = (test: (key: string) => boolean): Promise<FoundKeys> =>
    table.unseen('rows', sync, (key) => !becameEmpty.has(key) && test(key));
  const inDoubt = verdicts.hasDoubt ? (await find((key) => !counts(key) && !isShort(key))).count : 0;
  return { unseen: await find((key) => counts(key) || isShort(key)), inDoubt };
}

/**
 * The number of rows before the sync, for the guard, which adds the removals of the day to it. A value that became empty is
 * one of these removals, although its row stays published and known: it would count twice. So the removals of the day are
 * subtracted, if this sync also has values that became empty: the collection then removes rows in this way.
 */
function knownBefore({ own, knownRowsBefore, becameEmpty }: RunningSync, day: string): number {
  if (becameEmpty.size === 0) return knownRowsBefore;
  return Math.max(0, knownRowsBefore - own.deletions.removedOn(day));
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

async function stageRemovals({ own, sync, becameEmpty }: RunningSync, settlement: Settlement): Promise<void> {
  const { remove, rowsOnHold } = settlement;
  sync.stats.rowsOnHold = rowsOnHold;
  const emptied = remove.flatMap((key) => becameEmpty.get(key) ?? []);
  if (emptied.length > 0) await own.writer.publish(sync, emptied);
  const gone = remove.filter((key) => !becameEmpty.has(key));
  await own.writer.remove(sync, 'rows', gone);
}

/** Reports rows that are removed if another sync misses them, too. During a hold, a second miss removes nothing either. */
function reportMissing({ tenant, settings }: MirroredCollection, settlement: Settlement): void {
  const { unconfirmed: rows, isFree, confirmAtMs } = settlement;
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
  return scan.ending === 'proper' && verdictOn(scan).kind !== 'short' && hasSkippedNone;
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

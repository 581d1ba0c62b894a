import { zoneClock } from '../core/zone-clock.ts';
import type { ScanEvidence } from '../core/deletions/evidence.ts';
import { verdictsOn, type SyncVerdict, type Verdicts } from '../core/deletions/what-scans-prove.ts';
import { isOtherOnHold } from '../core/deletions/waiting-list.ts';
import { hasSeen } from '../table/active-sync.ts';
import type { Settlement } from '../table/deletions.ts';
import type { FoundKeys, Table } from '../table/table.ts';
import type { MirroredCollection, RunningSync } from './sync.ts';

/**
 * What a full sync proves. `notFound`: the number of published rows that it did not find, including those to be
 * removed. `settlement`: what becomes of the missing rows; null: the sync settles nothing.
 */
type FullSyncEnd = SyncVerdict & { readonly notFound: number; readonly settlement: Settlement | null };

/**
 * Settles the rows that a full sync missed, and stages the removals. The waiting rows are remembered after the last
 * commit.
 */
export async function settleMissing(run: RunningSync, scans: readonly ScanEvidence[]): Promise<FullSyncEnd> {
  const { own, sync, reading } = run;
  const verdicts = verdictsOn(scans, reading.scopes, (key) => own.source.scopeOf(key));
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
  const day = zoneClock(settings.fullSync.timeZone).dateAt(atMs);
  const known = knownBefore(run, day);
  const verdict = verdicts.ofSync({ unseen: unseen.keys, known });
  if (!verdicts.maySettle(deletions.isListLost)) return { ...verdict, notFound, settlement: null };
  const onHold = [...own.all].flatMap(([name, each]) =>
    each.deletions.onHoldSinceMs === null ? [] : [name],
  );
  const settlement = deletions.settle({
    syncId: sync.stats.syncId,
    atMs,
    day,
    // A value that became empty counts as seen (stage-pages.ts), but it is missing.
    wasSeen: (key) => hasSeen(sync, 'rows', key) && !becameEmpty.has(key),
    countsFor: verdicts.countsFor,
    // An unseen row of a short scope is not missed: it only helps to decide whether the sync is complete.
    missed: [...unseen.keys, ...becameEmpty.keys()].filter(verdicts.countsFor),
    // `count` counts all unseen rows, but `keys` has at most as many of them as a list can hold.
    unlisted: unseen.count - unseen.keys.length,
    missesNeeded: verdicts.missesNeeded,
    isOtherOnHold: isOtherOnHold(settings.name, onHold),
    // A short sync is complete only if the rows that did not come are published.
    short: verdict.short && { ...verdict.short, isCovered: verdict.whyInconclusive === null },
    approved: options.approved ?? null,
    known,
    limits: tenant.guard,
    confirmAtMs: options.confirming === true ? null : atMs + tenant.confirmAfterMs,
    // A row that did not come may be of any scope, and a scope without an answer has to be read again.
    confirmsAll: verdict.short !== null || run.answers.leavesScopeToFullSync,
  });
  return { ...verdict, notFound, settlement };
}

/**
 * The published rows that the sync did not see. `unseen`: those of complete and of short scopes. `inDoubt`: how many
 * there are in all other scopes.
 */
async function findUnseen({ sync, becameEmpty }: RunningSync, verdicts: Verdicts, table: Table) {
  const { countsFor, isShort } = verdicts;
  const find = (test: (key: string) => boolean): Promise<FoundKeys> =>
    table.unseen('rows', sync, (key) => !becameEmpty.has(key) && test(key));
  const inDoubt = verdicts.hasDoubt ? (await find((key) => !countsFor(key) && !isShort(key))).count : 0;
  return { unseen: await find((key) => countsFor(key) || isShort(key)), inDoubt };
}

/**
 * The number of rows before the sync, for the guard. The guard adds the removals of the day to it, because removed rows
 * are no longer published. But a value that became empty, which is a removal as well, stays published: it would count
 * twice. So if values of this collection become empty, the removals of the day are subtracted here.
 */
function knownBefore({ own, knownRowsBefore, becameEmpty }: RunningSync, day: string): number {
  if (becameEmpty.size === 0) return knownRowsBefore;
  return Math.max(0, knownRowsBefore - own.deletions.removedOn(day));
}

/** Why missing rows prove nothing: the rows of another collection may be another tenant's. Null: no such collection. */
function foreignBeside(own: MirroredCollection): string | null {
  const [foreign] = [...own.all].find(([, each]) => each !== own && each.deletions.isForeign) ?? [];
  return foreign === undefined
    ? null
    : `the hub may be another tenant's: it shows hardly any published row of ${foreign} (HUB_FOREIGN_DATA)`;
}

async function stageRemovals({ own, sync, becameEmpty }: RunningSync, { remove }: Settlement): Promise<void> {
  const emptied = remove.flatMap((key) => becameEmpty.get(key) ?? []);
  if (emptied.length > 0) await own.writer.publish(sync, emptied);
  const gone = remove.filter((key) => !becameEmpty.has(key));
  await own.writer.remove(sync, 'rows', gone);
}

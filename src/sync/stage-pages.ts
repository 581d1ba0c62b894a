import type { KeyedRow, PageTally } from '../core/rows/compare-with-published.ts';
import type { SourcePage } from '../source/source-scan.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import type { MirroredCollection, RunningSync } from './sync.ts';
import type { IdentityGate } from './tenant-identity.ts';

/**
 * Stages what a page changes; in parts, if it would make too large a transaction. A page that was staged in parts
 * cannot be recognised later.
 */
export async function stagePage(run: RunningSync, gate: IdentityGate, page: SourcePage): Promise<void> {
  if (await isStagedAsKnown(run, gate, page)) return;
  const { writer, settings } = run.own;
  const { rows, readAgain = [] } = page;
  if (readAgain.length > 0 && writer.known.rejects > 0) await writer.remove(run.sync, 'rejects', readAgain);
  const most = settings.size.rowsAtOnce;
  if (rows.length <= most) return stageRows(run, gate, page);
  for (let from = 0; from < rows.length; from += most) {
    await stageRows(run, gate, { ...page, rows: rows.slice(from, from + most), fingerprint: undefined });
    if (writer.isFull) await writer.flush(run.sync);
  }
}

/** Hands a page that was recognised to the writer. Returns false if its rows must be decided one by one. */
async function isStagedAsKnown(
  { own, sync }: RunningSync,
  gate: IdentityGate,
  { known, readVersion }: SourcePage,
): Promise<boolean> {
  if (known === undefined || !gate.passes(known.rows, known.rows)) return false;
  return reportPage(own, sync, await own.writer.acceptKnown(sync, known, readVersion));
}

/** Hands rows to the writer, which decides what changed. If too few of them are known, it must first be proven whose rows they are. */
async function stageRows(run: RunningSync, gate: IdentityGate, page: SourcePage): Promise<void> {
  const { own, sync } = run;
  const rows = await withoutNowEmpty(run, page);
  const { readVersion, fingerprint } = page;
  const read = { rows, readVersion, fingerprint };
  if (reportPage(own, sync, await own.writer.accept(sync, read, gate.passes))) return;
  await gate.prove();
  reportPage(own, sync, await own.writer.accept(sync, read));
}

/**
 * Takes out empty values whose published values have content, such as a class that lost all its students: they wait for
 * the end of a full sync, when the guard sees all losses together. An incremental sync only leaves them out.
 */
async function withoutNowEmpty(
  { own, sync, becameEmpty }: RunningSync,
  { rows }: SourcePage,
): Promise<readonly KeyedRow[]> {
  const empty = rows.filter((row) => row.isEmpty === true);
  if (empty.length === 0) return rows;
  const hashes = await own.writer.read((table) => table.hashesOf(empty.flatMap(({ key }) => key ?? [])));
  const hashOf = ({ key }: KeyedRow): Buffer | null => hashes.get(key ?? '') ?? null;
  const unknown = empty.filter((row) => hashOf(row) === null);
  const differing = empty.filter((row) => hashOf(row)?.equals(row.decoded.hash) === false);
  for (const row of differing) {
    if (row.key === null) continue;
    becameEmpty.set(row.key, row);
    // At the end of a full sync, this key is treated as a scope that became empty. So the key must not count as unseen, too.
    if (sync.isFull) sync.seen.add(row.key);
  }
  // A day without lessons is news only if lessons were published. A class without students is news even if nothing was.
  const left = new Set([...differing, ...unknown.filter(({ needsKnown }) => needsKnown)]);
  return rows.filter((row) => !left.has(row));
}

/** Puts scopes that cannot be read among the rejects, and takes out those that can be read again. */
export async function stageRejects({ own, sync, answers }: RunningSync): Promise<void> {
  const { writer, settings } = own;
  const { rejects, readAgain } = answers.end();
  if (writer.known.rejects > 0) await writer.remove(sync, 'rejects', readAgain);
  const most = settings.size.rowsAtOnce;
  for (let from = 0; from < rejects.length; from += most) {
    reportPage(own, sync, await writer.publish(sync, rejects.slice(from, from + most)));
    if (writer.isFull) await writer.flush(sync);
  }
}

/** Returns false if the page was not staged, so that there is nothing to report. */
function reportPage(own: MirroredCollection, { stats }: ActiveSync, tally: PageTally | null): boolean {
  const { tenant, settings, writer } = own;
  if (tally !== null)
    tenant.emit({ type: 'sync-page', collection: settings.name, stats, tally, rows: writer.known.rows });
  return tally !== null;
}

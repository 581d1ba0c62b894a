import type { KeyedRow } from '../core/row-changes.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import { deltaFrom, isOversized, syncClock, type SyncClock } from '../core/watermark.ts';
import { isFromHub } from '../errors.ts';
import type { SyncMode } from '../model/progress.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import { BecomesFull } from './becomes-full.ts';
import { completeSync, type Scanned } from './complete-sync.ts';
import { IdentityGate } from './identity-gate.ts';
import { scansAhead } from '../source/pages-ahead.ts';
import { evidenceOf, type SourcePage } from '../source/source-scan.ts';
import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { SyncParts } from './sync-parts.ts';
import type { SyncResult } from './sync-result.ts';
import type { SyncOptions } from './sync-result.ts';
import { newSyncStats } from '../core/sync-stats.ts';

/** Each of many short scans would end in a small transaction of its own. */
const COMMIT_EVERY_MS = 1_000;

/** A sync on its way from the hub's pages to the writer. */
interface RunningSync {
  readonly parts: SyncParts;
  readonly sync: ActiveSync;
  readonly gate: IdentityGate;
  readonly knownRowsBefore: number;
  readonly isConfirming: boolean;
  /** The keys whose scopes the sync reads; null: it reads all. */
  readonly concerned: Iterable<string> | null;
  readonly localStartMs: number;
  readonly becameEmpty: KeyedRow[];
  readonly signal: AbortSignal;
}

/**
 * Runs one sync of a collection, full or incremental, and publishes the changes. Throws the hub's errors, and
 * `HUB_FOREIGN_DATA`.
 */
export async function runSync(
  parts: SyncParts,
  mode: SyncMode,
  options: SyncOptions & { readonly signal: AbortSignal },
): Promise<SyncResult> {
  const { writer, identity } = parts;
  const { acceptNew = false, approved, confirming: isConfirming = false, signal } = options;
  const { collection } = parts;
  if (acceptNew) identity?.clear(collection);
  const localStartMs = parts.now();
  const pagesSince = mode === 'FULL' ? parts.pages?.beginFull() : undefined;
  const sync = newSync(parts, mode, options);
  if (mode === 'FULL' && !isConfirming) parts.late.beginFull(writer.progress?.watermarkMs ?? null);
  writer.begin(sync);
  try {
    const knownRowsBefore = writer.known.rows;
    if (mode === 'FULL') await parts.requireRecords();
    const gate = new IdentityGate({ parts, sync, knownRowsBefore, acceptNew });
    const scanned = await scanAll({
      parts,
      sync,
      gate,
      knownRowsBefore,
      isConfirming,
      concerned: approved?.keys ?? (isConfirming ? missingKeys(parts) : null),
      localStartMs,
      becameEmpty: [],
      signal,
    });
    const result = await completeSync({ parts, sync, isConfirming, knownRowsBefore, approved, ...scanned });
    if (pagesSince !== undefined && result.kind === 'complete') parts.pages?.endFull(pagesSince);
    return result;
  } catch (error) {
    if (error instanceof BecomesFull)
      return { kind: 'becomes-full', because: 'oversized', stats: sync.stats };
    // Rows that were read before the hub failed are valid, so commit them now.
    if (isFromHub(error)) {
      await writer.flush(sync, error.code === 'HUB_FOREIGN_DATA' ? 'incomplete' : null);
    }
    throw error;
  } finally {
    writer.end(sync);
  }
}

function newSync(parts: SyncParts, mode: SyncMode, { republication }: SyncOptions): ActiveSync {
  const passId = parts.randomId();
  const isFull = mode === 'FULL';
  const seed = parts.pages?.seed ?? seedFrom(passId);
  const keys = (): SeenKeys => new SeenKeys(seed);
  return {
    stats: newSyncStats({ passId, mode, startedAtMs: parts.now() }),
    seen: isFull ? keys() : null,
    seenByIncremental: isFull ? undefined : keys(),
    seenByOthers: isFull ? keys() : null,
    seenRejects: isFull ? keys() : null,
    readVersion: parts.writer.readVersion(),
    republication,
    // A row that is republished on request is not new.
    onNew:
      isFull && republication === undefined
        ? (key, modifiedAtMs) => parts.late.noteNew(key, modifiedAtMs)
        : undefined,
  };
}

async function scanAll(run: RunningSync): Promise<Scanned> {
  const { parts, sync, signal } = run;
  const { writer } = parts;
  const { stats } = sync;
  const all = await parts.scans();
  const scopes = new Set(all.map(({ scope }) => scope));
  const concerned = run.concerned === null ? null : new Set([...run.concerned].map(parts.scopeOf));
  const wanted = concerned === null ? all : all.filter(({ scope }) => concerned.has(scope));
  // A sync of a part of the scopes is recorded like an incremental one.
  if (wanted.length < all.length) stats.mode = 'DELTA';
  const isSingle = all.length === 1;
  const modifiedAfterMs = sync.seen === null ? incrementalBegin(parts) : undefined;
  const pages = sync.seen === null ? undefined : (parts.pages ?? undefined);
  const open = { modifiedAfterMs, pages, readVersion: writer.readVersion, signal };
  const scans: ScanEvidence[] = [];
  const { skewMs: previousSkewMs } = parts.findings;
  let clock: SyncClock | null = null;
  let hubTimeMs: number | null = null;
  let pageCount = 0;
  let flushedAtMs = parts.now();
  for await (const scan of scansAhead(wanted, { ahead: isSingle ? 0 : parts.scopesAhead, open })) {
    const before = countedBy(sync);
    for await (const page of scan.pages) {
      // Of several scans that were opened together, a later one may have been answered first.
      const isEarliest = hubTimeMs === null || (page.hubTimeMs !== null && page.hubTimeMs < hubTimeMs);
      if (clock === null || isEarliest) clock = startClock(run, page.hubTimeMs, previousSkewMs);
      if (isEarliest) hubTimeMs = page.hubTimeMs;
      if (isSingle) stats.totalAtStart ??= page.total;
      pageCount += 1;
      if (!(await stageKnown(run, page))) await stageAll(run, page);
      if (sync.seen === null && pageCount > 1 && isOversized(stats.rowsSeen, run.knownRowsBefore))
        throw new BecomesFull();
      // Commit while the next page is on its way. If it has arrived already, let more rows share the transaction.
      const isDue = isSingle ? !(await scan.pages.hasNext()) : parts.now() - flushedAtMs >= COMMIT_EVERY_MS;
      if (!writer.isFull && !(writer.hasPending && isDue)) continue;
      await writer.flush(sync);
      flushedAtMs = parts.now();
    }
    const after = countedBy(sync);
    const counted = {
      distinctRows: after.distinctRows - before.distinctRows,
      rowsWithoutId: after.rowsWithoutId - before.rowsWithoutId,
    };
    scans.push(evidenceOf(scan.scope, scan.pages.end, counted));
  }
  return {
    scans,
    scopes,
    becameEmpty: run.becameEmpty,
    clock: clock ?? startClock(run, null, previousSkewMs),
  };
}

/** Those whose scopes a confirming sync reads; null: it reads all. */
function missingKeys({ settling: { missing } }: SyncParts): Iterable<string> | null {
  return missing.owed?.isOfAll === false ? (missing.keys?.keys() ?? []) : null;
}

/** A row without an id counts as a row of its own. */
function countedBy({ seen, seenByIncremental, stats }: ActiveSync): {
  distinctRows: number;
  rowsWithoutId: number;
} {
  const { rowsWithoutId } = stats;
  return { distinctRows: ((seen ?? seenByIncremental)?.size ?? 0) + rowsWithoutId, rowsWithoutId };
}

/** Hands a page that was recognised to the writer; false where its rows are to be decided one by one. */
async function stageKnown(run: RunningSync, { known, readVersion }: SourcePage): Promise<boolean> {
  const { parts, sync, gate } = run;
  if (known === undefined || !gate.overlaps(known.rows, known.rows)) return false;
  const tally = await parts.writer.acceptKnown(sync, known, readVersion);
  if (tally === null) return false;
  gate.noteOwn(known.rows);
  parts.onPage(sync.stats, tally);
  return true;
}

/** Stages a page in parts, if it would make too large a transaction. Such a page cannot be recognised later. */
async function stageAll(run: RunningSync, page: SourcePage): Promise<void> {
  const { writer } = run.parts;
  const { rows } = page;
  const most = writer.rowsAtOnce;
  if (rows.length <= most) return stage(run, page);
  for (let from = 0; from < rows.length; from += most) {
    await stage(run, { ...page, rows: rows.slice(from, from + most), print: undefined });
    if (writer.isFull) await writer.flush(run.sync);
  }
}

/** Hands a page's rows to the writer, which decides what changed. */
async function stage(run: RunningSync, page: SourcePage): Promise<void> {
  const { parts, sync, gate } = run;
  const { writer } = parts;
  const rows = await withoutNowEmpty(run, page);
  const accepted = { rows, readVersion: page.readVersion, print: page.print };
  let tally = await writer.acceptIf(sync, accepted, gate.overlaps);
  if (tally === null) {
    await gate.prove();
    tally = await writer.accept(sync, accepted);
  }
  gate.noteOwn(rows.length);
  if (sync.seen === null) {
    for (const { key, decoded } of rows) {
      if (key !== null && decoded.modifiedAtMs !== null) parts.late.noteSeen(key, decoded.modifiedAtMs);
    }
  }
  parts.onPage(sync.stats, tally);
}

/** Values that became empty wait for the end of the sync, where the guard sees all losses together. */
async function withoutNowEmpty(
  { parts, sync, becameEmpty: all }: RunningSync,
  { rows }: SourcePage,
): Promise<readonly KeyedRow[]> {
  const empty = rows.filter(({ becameEmpty }) => becameEmpty === true);
  if (empty.length === 0) return rows;
  const nowEmpty = new Set(await parts.writer.known.differing(empty));
  for (const { key } of nowEmpty) if (key !== null) sync.seen?.add(key);
  all.push(...nowEmpty);
  return rows.filter((row) => !nowEmpty.has(row));
}

/** The sync's clock, by the hub's time at its earliest page. */
function startClock(
  { parts, sync, localStartMs }: RunningSync,
  hubTimeMs: number | null,
  previousSkewMs: number | null,
): SyncClock {
  const clock = syncClock({
    hubTimeMs,
    localTimeMs: localStartMs,
    previousSkewMs,
    overlapMs: parts.overlapMs,
  });
  parts.findings.noteSkew(clock.skewMs);
  sync.stats.startedAtMs = clock.startedAtMs;
  return clock;
}

/** The time from which an incremental sync reads, hub time in ms. */
function incrementalBegin({ writer, inheritedWatermarkMs, overlapMs }: SyncParts): number | undefined {
  const watermarkMs = writer.progress?.watermarkMs ?? null;
  if (watermarkMs === null) return undefined;
  return deltaFrom({ watermarkMs, isInherited: watermarkMs === inheritedWatermarkMs, overlapMs });
}

/** A 32-bit seed from the hexadecimal digits of a random id. */
function seedFrom(passId: string): number {
  return Number.parseInt(passId.replaceAll('-', '').slice(0, 8), 16) | 0;
}

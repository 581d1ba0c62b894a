import type { KeyedRow } from '../core/row-changes.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import { incrementalFrom, isOversized, syncClock, type SyncClock } from '../core/watermark.ts';
import { isFromHub } from '../errors.ts';
import type { SyncMode } from '../model/progress.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import { BecomesFull, IdentityGate } from './identity.ts';
import { completeSync, type Scanned } from './complete-sync.ts';
import { scansAhead } from '../source/pages-ahead.ts';
import { evidenceOf, type Reading, type SourcePage } from '../source/source-scan.ts';
import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { MirroredCollection } from './mirrored-collection.ts';
import type { SyncResult, SyncOptions } from './sync-result.ts';
import { newSyncStats } from '../core/sync-stats.ts';

const COMMIT_EVERY_MS = 1_000;

/** A sync on its way from the hub's pages to the writer. */
interface RunningSync {
  readonly parts: MirroredCollection;
  readonly sync: ActiveSync;
  readonly gate: IdentityGate;
  readonly reading: Reading;
  readonly knownRowsBefore: number;
  /** The scopes that the sync reads; null: all. */
  readonly some: ReadonlySet<string> | null;
  readonly localStartMs: number;
  readonly becameEmpty: KeyedRow[];
  readonly signal: AbortSignal;
}

type RunOptions = SyncOptions & { readonly signal: AbortSignal };

/**
 * Runs one sync of a collection, full or incremental, and publishes the changes. Throws the hub's errors, and
 * `HUB_FOREIGN_DATA`.
 */
export function runSync(parts: MirroredCollection, mode: SyncMode, options: RunOptions): Promise<SyncResult> {
  const { source } = parts;
  const keys = options.approved?.keys ?? (options.confirming === true ? missingKeys(parts) : null);
  if (keys !== null)
    return runOn(parts, mode, { ...options, some: new Set([...keys].map((key) => source.scopeOf(key))) });
  if (source.changes === undefined) return runOn(parts, mode, { ...options, some: null });
  return source.changes.take((changed) =>
    runOn(parts, mode, { ...options, some: mode === 'FULL' ? null : changed }),
  );
}

async function runOn(
  parts: MirroredCollection,
  mode: SyncMode,
  { some, ...options }: RunOptions & Pick<RunningSync, 'some'>,
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
    if (mode === 'FULL') await parts.requireRecords();
    const reading = await parts.source.begin();
    if (mode === 'FULL') await removeOutside(parts, sync, reading);
    const knownRowsBefore = writer.known.rows;
    const gate = new IdentityGate({ parts, sync, knownRowsBefore, acceptNew });
    const scanned = await scanAll({
      parts,
      sync,
      gate,
      reading,
      knownRowsBefore,
      some,
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

/** The configuration or the day says so: no guard, no confirmation, and no word of the hub. */
async function removeOutside(
  { writer }: MirroredCollection,
  sync: ActiveSync,
  { isOutside }: Reading,
): Promise<void> {
  if (isOutside === undefined) return;
  for (const area of ['rows', 'rejects'] as const) {
    for (let isMore = writer.known[area] > 0; isMore;) {
      const { keys, count } = await writer.known.find(area, isOutside);
      await writer.remove(sync, area, keys);
      await writer.flush(sync);
      isMore = count > keys.length;
    }
  }
}

function newSync(parts: MirroredCollection, mode: SyncMode, { republication }: SyncOptions): ActiveSync {
  const syncId = parts.randomId();
  const isFull = mode === 'FULL';
  const seed = parts.pages?.seed ?? seedFrom(syncId);
  const keys = (): SeenKeys => new SeenKeys(seed);
  return {
    stats: newSyncStats({ syncId, mode, startedAtMs: parts.now() }),
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
  const { parts, sync, reading } = run;
  const { stats } = sync;
  const { scopes } = reading;
  const wanted = run.some === null ? scopes : scopes.intersection(run.some);
  // A sync of a part of the scopes is recorded like an incremental one.
  if (wanted.size < scopes.size) stats.mode = 'INCREMENTAL';
  const isSingle = scopes.size === 1;
  const scans: ScanEvidence[] = [];
  const pages = pagesOf(run, { wanted, isSingle, scans });
  const { skewMs: previousSkewMs } = parts.findings;
  let clock: SyncClock | null = null;
  let hubTimeMs: number | null = null;
  let pageCount = 0;
  const commits = new Commits(run, isSingle ? 0 : COMMIT_EVERY_MS);
  try {
    for (;;) {
      const step = pages.next();
      await commits.until(step);
      const { done = false, value: page } = await step;
      if (done || page === undefined) break;
      // Of several scans that were opened together, a later one may have been answered first.
      const isEarliest = hubTimeMs === null || (page.hubTimeMs !== null && page.hubTimeMs < hubTimeMs);
      if (clock === null || isEarliest) clock = startClock(run, page.hubTimeMs, previousSkewMs);
      if (isEarliest) hubTimeMs = page.hubTimeMs;
      if (isSingle) stats.totalAtStart ??= page.total;
      pageCount += 1;
      if (!(await stageKnown(run, page))) await stageAll(run, page);
      const isByTime = sync.seen === null && parts.source.changes === undefined;
      if (isByTime && pageCount > 1 && isOversized(stats.rowsSeen, run.knownRowsBefore))
        throw new BecomesFull();
      // The reader is done with a large page before the scan goes on.
      if (parts.writer.isFull || page.isLarge === true) await commits.now();
    }
  } finally {
    await pages.return(undefined);
  }
  return {
    scans,
    scopes,
    becameEmpty: run.becameEmpty,
    clock: clock ?? startClock(run, null, previousSkewMs),
  };
}

/** The pages of all scans. What a scan proves is noted when it has ended. */
async function* pagesOf(
  { parts, sync, reading, signal }: RunningSync,
  options: { wanted: ReadonlySet<string>; isSingle: boolean; scans: ScanEvidence[] },
): AsyncGenerator<SourcePage, undefined> {
  const open = {
    modifiedAfterMs: sync.seen === null ? incrementalBegin(parts) : undefined,
    pages: sync.seen === null ? undefined : (parts.pages ?? undefined),
    readVersion: parts.writer.readVersion,
    signal,
  };
  const ahead = options.isSingle ? 0 : parts.scopesAhead;
  for await (const scan of scansAhead(reading.scans(options.wanted), { ahead, open })) {
    const before = countedBy(sync);
    yield* scan.pages;
    const after = countedBy(sync);
    const counted = {
      distinctRows: after.distinctRows - before.distinctRows,
      rowsWithoutId: after.rowsWithoutId - before.rowsWithoutId,
    };
    options.scans.push(evidenceOf(scan.scope, scan.pages.end, counted));
  }
}

/**
 * Commits what is staged while the next page is on its way: at once, if it has not arrived yet; or of many short scans, each of
 * which would end in a small transaction of its own, after `everyMs` at the latest.
 */
class Commits {
  readonly #run: RunningSync;
  readonly #everyMs: number;
  #lastMs: number;

  constructor(run: RunningSync, everyMs: number) {
    this.#run = run;
    this.#everyMs = everyMs;
    this.#lastMs = run.parts.now();
  }

  async now(): Promise<void> {
    const { parts, sync } = this.#run;
    await parts.writer.flush(sync);
    this.#lastMs = parts.now();
  }

  async until(next: Promise<unknown>): Promise<void> {
    const { parts, signal } = this.#run;
    next.catch(() => undefined);
    while (parts.writer.hasPending && !signal.aborted) {
      const restMs = this.#lastMs + this.#everyMs - parts.now();
      const isDue = restMs <= 0;
      if ((!isDue || this.#everyMs === 0) && (await this.#arrives(next, restMs))) return;
      if (isDue) await this.now();
    }
  }

  /** Whether the next page, or the end, arrives in time; without time, by the next turn of the event loop. */
  async #arrives(next: Promise<unknown>, withinMs: number): Promise<boolean> {
    const { parts } = this.#run;
    const arrived = next.then(
      () => true,
      () => true,
    );
    const ending = new AbortController();
    const late =
      withinMs <= 0
        ? new Promise<void>((resolve) => setImmediate(resolve))
        : parts.sleep(withinMs, ending.signal).catch(() => undefined);
    try {
      return await Promise.race([arrived, late.then(() => false)]);
    } finally {
      ending.abort();
    }
  }
}

/** Those whose scopes a confirming sync reads; null: it reads all. */
function missingKeys({ settling: { missing } }: MirroredCollection): Iterable<string> | null {
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
  const { rows, readAgain = [] } = page;
  if (readAgain.length > 0 && writer.known.rejects > 0) await writer.remove(run.sync, 'rejects', readAgain);
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

/** Values that became empty wait for the end of a full sync, where the guard sees all losses together. */
async function withoutNowEmpty(
  { parts, sync, becameEmpty }: RunningSync,
  { rows }: SourcePage,
): Promise<readonly KeyedRow[]> {
  const empty = rows.filter((row) => row.becameEmpty === true);
  if (empty.length === 0) return rows;
  const { differing = [], unknown = [] } = await parts.writer.known.compare(empty);
  for (const { key } of differing) if (key !== null) sync.seen?.add(key);
  becameEmpty.push(...differing);
  const left = new Set([...differing, ...unknown.filter(({ needsKnown }) => needsKnown)]);
  return rows.filter((row) => !left.has(row));
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
function incrementalBegin({
  writer,
  inheritedWatermarkMs,
  overlapMs,
}: MirroredCollection): number | undefined {
  const watermarkMs = writer.progress?.watermarkMs ?? null;
  if (watermarkMs === null) return undefined;
  return incrementalFrom({ watermarkMs, isInherited: watermarkMs === inheritedWatermarkMs, overlapMs });
}

/** A 32-bit seed from the hexadecimal digits of a random id. */
function seedFrom(syncId: string): number {
  return Number.parseInt(syncId.replaceAll('-', '').slice(0, 8), 16) | 0;
}

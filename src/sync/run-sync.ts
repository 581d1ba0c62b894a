import type { KeyedRow } from '../core/rows/compare-with-published.ts';
import { randomSeed, SeenKeys } from '../core/seen-keys.ts';
import { isOversized, lateRows, syncClock, type SyncClock } from '../core/watermark.ts';
import { isFromHub } from '../errors.ts';
import type { SyncMode } from '../model/progress.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import { BecomesFull, identityGate } from './tenant-identity.ts';
import type { Reading } from '../source/source-scan.ts';
import type { ScanEvidence } from '../core/deletions/evidence.ts';
import { commitsOf } from './commits.ts';
import { completeFull } from './complete-full.ts';
import { completeIncremental } from './complete-incremental.ts';
import { pagesOf } from './read-scans.ts';
import { ScopeAnswers } from './scope-answers.ts';
import { stagePage, stageRejects } from './stage-pages.ts';
import type { MirroredCollection, RunningSync, RunOptions, Scanned } from './sync.ts';
import type { ReplacedSync, SyncResult } from './sync-result.ts';
import { newSyncStats, type SyncStats } from '../core/sync-stats.ts';

const COMMIT_EVERY_MS = 1_000;

/**
 * Runs one sync of a collection, full or incremental, and publishes the changes. Throws the hub's errors, and
 * `HUB_FOREIGN_DATA`.
 */
export function runSync(
  own: MirroredCollection,
  mode: SyncMode,
  options: RunOptions,
): Promise<SyncResult | ReplacedSync> {
  const { source } = own;
  // After an approval, and when missing rows are looked for again, only the scopes of these rows are read.
  const keys = options.approved?.keys ?? (options.confirming === true ? missingKeys(own) : null);
  if (keys !== null) return runOn(own, mode, options, new Set([...keys].map((key) => source.scopeOf(key))));
  if (source.changedScopes === undefined) return runOn(own, mode, options);
  const isFull = mode === 'FULL';
  // A full sync reads all scopes, so it also takes the changed ones that are not due yet.
  const dueMs = isFull ? Infinity : own.tenant.runtime.now();
  return source.changedScopes.take(dueMs, (changed) => runOn(own, mode, options, isFull ? null : changed));
}

/** `some`: the scopes to read; null: all scopes. */
async function runOn(
  own: MirroredCollection,
  mode: SyncMode,
  options: RunOptions,
  some: ReadonlySet<string> | null = null,
): Promise<SyncResult | ReplacedSync> {
  const { writer, deletions, pages } = own;
  const isFull = mode === 'FULL';
  if (options.acceptNew === true) deletions.noteOwn();
  const pagesSince = isFull ? pages?.beginFull() : undefined;
  const sync = newSync(own, mode, options);
  writer.begin(sync);
  try {
    if (isFull) await own.requireRecords();
    const reading = await own.source.begin();
    if (isFull) await removeOutside(own, sync, reading);
    const knownRowsBefore = writer.known.rows;
    const becameEmpty = new Map<string, KeyedRow>();
    const answers = new ScopeAnswers(own, reading.scopes.size);
    const wanted = some === null ? reading.scopes : reading.scopes.intersection(some);
    const isPart = wanted.size < reading.scopes.size;
    const scope = { reading, answers, wanted, isPart };
    const run = { own, sync, options, ...scope, knownRowsBefore, becameEmpty, pagesSince };
    const scanned = await scanAll(run);
    return await (isFull ? completeFull(run, scanned) : completeIncremental(run, scanned));
  } catch (error) {
    if (error instanceof BecomesFull) return { kind: 'becomes-full', why: 'oversized', stats: sync.stats };
    // Rows that were read before the hub failed are valid, so they are committed now. If the rows may be another
    // tenant's, this is recorded.
    if (isFromHub(error))
      await writer.flush(sync, { kind: error.code === 'HUB_FOREIGN_DATA' ? 'incomplete' : 'none' });
    throw error;
  } finally {
    writer.end(sync);
  }
}

/** Removes what is no longer mirrored: the hub has not lost it, so this needs no guard and no confirming sync. */
async function removeOutside(
  { writer }: MirroredCollection,
  sync: ActiveSync,
  { isOutside }: Reading,
): Promise<void> {
  if (isOutside === undefined) return;
  for (const area of ['rows', 'rejects'] as const) {
    for (let isMore = writer.known[area] > 0; isMore;) {
      const { keys, count } = await writer.read((table) => table.find(area, isOutside));
      await writer.remove(sync, area, keys);
      await writer.flush(sync);
      isMore = count > keys.length;
    }
  }
}

function newSync(
  own: MirroredCollection,
  mode: SyncMode,
  { republication, confirming = false }: RunOptions,
): ActiveSync {
  const { randomId, now } = own.tenant.runtime;
  const syncId = randomId();
  const isFull = mode === 'FULL';
  const seed = own.pages?.seed ?? randomSeed();
  const keys = (): SeenKeys => new SeenKeys(seed);
  const stats = newSyncStats({ syncId, mode, startedAtMs: now() });
  // If rows are republished on request, changed rows do not show what incremental syncs missed.
  const mayJudge = isFull && republication === undefined && !confirming;
  const isLate = mayJudge ? lateRows(own.writer.progress) : null;
  if (isLate !== null) stats.rowsLate = 0;
  if (isLate !== null && !own.findings.hasIncrementalBrought) stats.filterSelectsNothing = true;
  return {
    stats,
    isFull,
    seen: keys(),
    seenByOthers: isFull ? keys() : null,
    seenRejects: isFull ? keys() : null,
    readVersion: own.writer.readVersion(),
    republication,
    isLate,
  };
}

/** Reads all pages, and stages and commits what they change. */
async function scanAll(run: RunningSync): Promise<Scanned> {
  const { own, sync } = run;
  const { stats } = sync;
  // A full sync of only some scopes says nothing about the others, so it is recorded like an incremental one.
  if (run.isPart) stats.mode = 'INCREMENTAL';
  const isSingle = run.reading.scopes.size === 1;
  const scans: ScanEvidence[] = [];
  const pages = pagesOf(run, { isSingle, scans });
  const startClock = clockOf(own, stats);
  let clock: SyncClock | null = null;
  let hubTimeMs: number | null = null;
  let pageCount = 0;
  const gate = identityGate(run);
  const commits = commitsOf(run, isSingle ? 0 : COMMIT_EVERY_MS);
  try {
    for (;;) {
      const step = pages.next();
      await commits.until(step);
      const { done = false, value: page } = await step;
      if (done || page === undefined) break;
      run.options.onPage?.();
      // If several scans were opened together, a later one may have been answered first.
      if (hubTimeMs === null || (page.hubTimeMs !== null && page.hubTimeMs < hubTimeMs)) {
        hubTimeMs = page.hubTimeMs;
        clock = startClock(hubTimeMs);
      }
      if (isSingle) stats.totalAtStart ??= page.total;
      pageCount += 1;
      await stagePage(run, gate, page);
      const isByTime = !sync.isFull && own.source.changedScopes === undefined;
      if (isByTime && pageCount > 1 && isOversized(stats.rowsSeen, run.knownRowsBefore))
        throw new BecomesFull();
      // The rows of a large page stay in memory until they are committed, and no other large page is read before that.
      if (own.writer.isFull || page.isLarge === true) await commits.now();
    }
  } finally {
    await pages.return(undefined);
  }
  await stageRejects(run);
  stats.totalAtStart = sumOrNull(scans.map(({ totalAtStart }) => totalAtStart));
  stats.totalAtEnd = sumOrNull(scans.map(({ totalAtEnd }) => totalAtEnd));
  return { scans, clock: clock ?? startClock(null) };
}

/** The sum of the hub's totals of several lists; null when one of them is unknown. */
function sumOrNull(totals: readonly (number | null)[]): number | null {
  return totals.reduce((sum, total) => (sum === null || total === null ? null : sum + total), 0);
}

/** The keys whose scopes a confirming sync reads; null: it reads all scopes. */
function missingKeys({ deletions }: MirroredCollection): Iterable<string> | null {
  const { missing } = deletions;
  return missing?.confirmAtMs == null || missing.confirmsAll ? null : missing.keys.keys();
}

/** Returns a function that makes the sync's clock from the earliest time that the hub sent with a page. */
function clockOf(
  { findings, settings }: MirroredCollection,
  stats: SyncStats,
): (hubTimeMs: number | null) => SyncClock {
  const { skewMs: previousSkewMs } = findings;
  const { startedAtMs: localTimeMs } = stats;
  return (hubTimeMs) => {
    const overlapMs = settings.incrementalOverlapMs;
    const clock = syncClock({ hubTimeMs, localTimeMs, previousSkewMs, overlapMs });
    findings.skewMs = clock.skewMs;
    stats.startedAtMs = clock.startedAtMs;
    return clock;
  };
}

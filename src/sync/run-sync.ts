import type { KeyedRow, PageTally } from '../core/rows/row-changes.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import { isOversized, lateRows, syncClock, type SyncClock } from '../core/watermark.ts';
import { isFromHub } from '../errors.ts';
import { TURNS_UNTIL_SENT } from '../hub/scan.ts';
import type { SyncMode } from '../model/progress.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import { BecomesFull, IdentityGate } from './tenant-identity.ts';
import { evidenceOf, scansAhead, type Reading, type SourcePage } from '../source/source-scan.ts';
import { hasAgreed, judgeScope, type ScanEvidence } from '../core/deletions/evidence.ts';
import { ScopeAnswers } from './scope-answers.ts';
import { settleMissing, type MirroredCollection, type RunningSync, type Scanned } from './settle-missing.ts';
import type { ReplacedSync, SyncResult, SyncOptions } from './sync-result.ts';
import type { Runtime } from '../runtime.ts';
import { newSyncStats, type SyncStats } from '../core/sync-stats.ts';

const COMMIT_EVERY_MS = 1_000;

type RunOptions = SyncOptions & { readonly signal: AbortSignal };

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
  const keys = options.approved?.keys ?? (options.confirming === true ? missingKeys(own) : null);
  if (keys !== null)
    return runOn(own, mode, { ...options, some: new Set([...keys].map((key) => source.scopeOf(key))) });
  if (source.changes === undefined) return runOn(own, mode, { ...options, some: null });
  const dueMs = mode === 'FULL' ? Infinity : own.tenant.runtime.now();
  return source.changes.take(dueMs, (changed) =>
    runOn(own, mode, { ...options, some: mode === 'FULL' ? null : changed }),
  );
}

async function runOn(
  own: MirroredCollection,
  mode: SyncMode,
  options: RunOptions & Pick<RunningSync, 'some'>,
): Promise<SyncResult | ReplacedSync> {
  const { writer, pages } = own;
  const { acceptNew = false, approved = null, confirming: isConfirming = false } = options;
  const { some, onPage, signal } = options;
  const isFull = mode === 'FULL';
  if (acceptNew) writer.committed.noteForeign(null);
  const acceptedBy = acceptNew ? (options.person ?? {}) : null;
  const startedAtMs = own.tenant.runtime.now();
  const pagesSince = isFull ? pages?.beginFull() : undefined;
  const sync = newSync(own, mode, { ...options, startedAtMs });
  writer.begin(sync);
  try {
    if (isFull) await own.requireRecords();
    const reading = await own.source.begin();
    if (isFull) await removeOutside(own, sync, reading);
    const knownRowsBefore = writer.known.rows;
    const becameEmpty: KeyedRow[] = [];
    const asked = { isConfirming, approved, some, onPage, signal };
    const answers = new ScopeAnswers(own, reading.scopes.size);
    const run = { own, sync, reading, answers, knownRowsBefore, becameEmpty, ...asked };
    const result = await completeSync(run, await scanAll(run, new IdentityGate(run, acceptedBy)));
    if (!isFull && sync.stats.rowsSeen > 0) own.findings.hasIncrementalBrought = true;
    if (pagesSince !== undefined && result.kind === 'complete') pages?.endFull(pagesSince);
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
  { republication, confirming = false, startedAtMs }: SyncOptions & { startedAtMs: number },
): ActiveSync {
  const syncId = own.tenant.runtime.randomId();
  const isFull = mode === 'FULL';
  const seed = own.pages?.seed ?? seedFrom(syncId);
  const keys = (): SeenKeys => new SeenKeys(seed);
  const stats = newSyncStats({ syncId, mode, startedAtMs });
  // A row that is republished on request is not new.
  const mayJudge = isFull && republication === undefined && !confirming;
  const isLate = mayJudge ? lateRows(own.writer.progress, own.inheritedWatermarkMs) : null;
  if (isLate !== null) stats.rowsLate = 0;
  if (isLate !== null && !own.findings.hasIncrementalBrought) stats.isFilterMute = true;
  return {
    stats,
    isFull,
    seen: keys(),
    seenByOthers: isFull ? keys() : null,
    seenRejects: isFull ? keys() : null,
    readVersion: own.writer.readVersion(),
    republication,
    onNew: (row) => {
      if (isLate?.(row) === true) stats.rowsLate = (stats.rowsLate ?? 0) + 1;
    },
  };
}

async function scanAll(run: RunningSync, gate: IdentityGate): Promise<Scanned> {
  const { own, sync, reading } = run;
  const { stats } = sync;
  const { scopes } = reading;
  const wanted = run.some === null ? scopes : scopes.intersection(run.some);
  // A sync of a part of the scopes is recorded like an incremental one.
  if (wanted.size < scopes.size) stats.mode = 'INCREMENTAL';
  const isSingle = scopes.size === 1;
  const scans: ScanEvidence[] = [];
  const pages = pagesOf(run, { wanted, isSingle, scans });
  const startClock = clockOf(own, stats);
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
      run.onPage?.();
      // Of several scans that were opened together, a later one may have been answered first.
      const isEarliest = hubTimeMs === null || (page.hubTimeMs !== null && page.hubTimeMs < hubTimeMs);
      if (clock === null || isEarliest) clock = startClock(page.hubTimeMs);
      if (isEarliest) hubTimeMs = page.hubTimeMs;
      if (isSingle) stats.totalAtStart ??= page.total;
      pageCount += 1;
      if (!(await stageKnown(run, gate, page))) await stageAll(run, gate, page);
      const isByTime = !sync.isFull && own.source.changes === undefined;
      if (isByTime && pageCount > 1 && isOversized(stats.rowsSeen, run.knownRowsBefore))
        throw new BecomesFull();
      // The reader is done with a large page before the scan goes on.
      if (own.writer.isFull || page.isLarge === true) await commits.now();
    }
  } finally {
    await pages.return(undefined);
  }
  await stageRejects(run);
  return { scans, clock: clock ?? startClock(null) };
}

/** The pages of all scans. What a scan proves is noted when it has ended. */
async function* pagesOf(
  run: RunningSync,
  options: { wanted: ReadonlySet<string>; isSingle: boolean; scans: ScanEvidence[] },
): AsyncGenerator<SourcePage, undefined> {
  const { own, sync, answers, signal } = run;
  const { unread } = own.findings;
  const sinceMs = sync.isFull ? undefined : incrementalBegin(own);
  const open = (scope: string) => ({
    // What changed before the watermark may not have been read.
    modifiedAfterMs: unread.has(scope) ? undefined : sinceMs,
    pages: sync.isFull ? (own.pages ?? undefined) : undefined,
    // Before the first load is complete, what is published says nothing about the collection.
    knownRows: own.writer.progress?.lastCompleteFull ? own.writer.known.rows || undefined : undefined,
    readVersion: own.writer.readVersion,
    signal,
  });
  const ahead = options.isSingle ? 0 : own.tenant.scopesAhead;
  for await (const { scope, pages } of scansInTurn(run, options.wanted, { ahead, open })) {
    const before = countedBy(sync);
    const end = yield* answers.read(scope, pages);
    if (end.isUnread !== true) unread.delete(scope);
    else if (!unread.has(scope)) unread.set(scope, own.tenant.runtime.now());
    const after = countedBy(sync);
    const counted = {
      distinctRows: after.distinctRows - before.distinctRows,
      rowsWithoutId: after.rowsWithoutId - before.rowsWithoutId,
    };
    options.scans.push(evidenceOf(scope, end, counted));
  }
}

/**
 * In an incremental sync of changed scopes, those that had no answer last time come last; and if no other is answered, one more is
 * read before them: its answer shows that the hub is not in trouble, and closes its circuit.
 */
async function* scansInTurn(
  { own, sync, reading, answers }: RunningSync,
  wanted: ReadonlySet<string>,
  options: Parameters<typeof scansAhead>[1],
): ReturnType<typeof scansAhead> {
  const scansOf = (scopes: ReadonlySet<string>) => scansAhead(reading.scans(scopes), options);
  if (sync.isFull || own.source.changes === undefined || wanted.size === 0) return yield* scansOf(wanted);
  const unread = new Set(own.findings.unread.keys());
  yield* scansOf(wanted.difference(unread));
  if (!answers.hasAnswer) {
    const others = reading.scopes.difference(wanted).difference(unread);
    yield* scansOf(new Set(others.values().take(1)));
  }
  yield* scansOf(wanted.intersection(unread));
}

/** Puts scopes that cannot be read among the rejects, and takes out those that can be read again. */
async function stageRejects({ own, sync, answers }: RunningSync): Promise<void> {
  const { writer, settings } = own;
  const { rejects, readAgain } = answers.end();
  if (writer.known.rejects > 0) await writer.remove(sync, 'rejects', readAgain);
  const most = settings.size.rowsAtOnce;
  for (let from = 0; from < rejects.length; from += most) {
    reportPage(own, sync, await writer.publish(sync, rejects.slice(from, from + most)));
    if (writer.isFull) await writer.flush(sync);
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
    this.#lastMs = run.own.tenant.runtime.now();
  }

  async now(): Promise<void> {
    const { own, sync } = this.#run;
    await own.writer.flush(sync);
    this.#lastMs = own.tenant.runtime.now();
  }

  async until(next: Promise<unknown>): Promise<void> {
    const { own, signal } = this.#run;
    next.catch(() => undefined);
    while (own.writer.hasPending && !signal.aborted) {
      const restMs = this.#lastMs + this.#everyMs - own.tenant.runtime.now();
      const isDue = restMs <= 0;
      if ((!isDue || this.#everyMs === 0) && (await this.#arrives(next, restMs))) return;
      if (isDue) await this.now();
    }
  }

  /** Whether the next page, or the end, arrives in time; without time, if it has come already. */
  async #arrives(next: Promise<unknown>, withinMs: number): Promise<boolean> {
    const { runtime } = this.#run.own.tenant;
    const arrived = next.then(
      () => true,
      () => true,
    );
    if (withinMs <= 0) return Promise.race([arrived, turnsOfLoop(runtime).then(() => false)]);
    const ending = new AbortController();
    const late = runtime.sleep(withinMs, ending.signal).catch(() => undefined);
    try {
      return await Promise.race([arrived, late.then(() => false)]);
    } finally {
      ending.abort();
    }
  }
}

/** So long takes a page that has come already: its scan first sends the request for the page after it. */
async function turnsOfLoop({ turn }: Pick<Runtime, 'turn'>): Promise<void> {
  for (let turns = 0; turns <= TURNS_UNTIL_SENT; turns += 1) await turn();
}

/** Those whose scopes a confirming sync reads; null: it reads all. */
function missingKeys({ missing }: MirroredCollection): Iterable<string> | null {
  return missing.owed?.isOfAll === false ? (missing.keys?.keys() ?? []) : null;
}

/** A row without an id counts as a row of its own. */
function countedBy({ seen, stats }: ActiveSync): {
  distinctRows: number;
  rowsWithoutId: number;
} {
  const { rowsWithoutId } = stats;
  return { distinctRows: (seen?.size ?? 0) + rowsWithoutId, rowsWithoutId };
}

/** Hands a page that was recognised to the writer; false where its rows are to be decided one by one. */
async function stageKnown(
  { own, sync }: RunningSync,
  gate: IdentityGate,
  { known, readVersion }: SourcePage,
): Promise<boolean> {
  if (known === undefined || !gate.overlaps(known.rows, known.rows)) return false;
  const tally = await own.writer.acceptKnown(sync, known, readVersion);
  if (tally === null) return false;
  reportPage(own, sync, tally);
  return true;
}

/** Stages a page in parts, if it would make too large a transaction. Such a page cannot be recognised later. */
async function stageAll(run: RunningSync, gate: IdentityGate, page: SourcePage): Promise<void> {
  const { writer } = run.own;
  const { rows, readAgain = [] } = page;
  if (readAgain.length > 0 && writer.known.rejects > 0) await writer.remove(run.sync, 'rejects', readAgain);
  const most = run.own.settings.size.rowsAtOnce;
  if (rows.length <= most) return stage(run, gate, page);
  for (let from = 0; from < rows.length; from += most) {
    await stage(run, gate, { ...page, rows: rows.slice(from, from + most), print: undefined });
    if (writer.isFull) await writer.flush(run.sync);
  }
}

/** Hands a page's rows to the writer, which decides what changed. */
async function stage(run: RunningSync, gate: IdentityGate, page: SourcePage): Promise<void> {
  const { own, sync } = run;
  const { writer } = own;
  const rows = await withoutNowEmpty(run, page);
  const accepted = { rows, readVersion: page.readVersion, print: page.print };
  let tally = await writer.accept(sync, accepted, gate.overlaps);
  if (tally === null) {
    await gate.prove();
    tally = await writer.accept(sync, accepted);
  }
  if (tally !== null) reportPage(own, sync, tally);
}

/**
 * Takes out rows of `becameEmpty`, such as a class that lost all students: they wait for the end of a full sync, where the guard
 * sees all losses together.
 */
async function withoutNowEmpty(
  { own, sync, becameEmpty }: RunningSync,
  { rows }: SourcePage,
): Promise<readonly KeyedRow[]> {
  const empty = rows.filter((row) => row.becameEmpty === true);
  if (empty.length === 0) return rows;
  const hashes = await own.writer.read((table) => table.hashesOf(empty.flatMap(({ key }) => key ?? [])));
  const hashOf = ({ key }: KeyedRow): Buffer | null => hashes.get(key ?? '') ?? null;
  const unknown = empty.filter((row) => hashOf(row) === null);
  const differing = empty.filter((row) => hashOf(row)?.equals(row.decoded.hash) === false);
  if (sync.isFull) for (const { key } of differing) if (key !== null) sync.seen?.add(key);
  becameEmpty.push(...differing);
  const left = new Set([...differing, ...unknown.filter(({ needsKnown }) => needsKnown)]);
  return rows.filter((row) => !left.has(row));
}

function reportPage({ tenant, settings }: MirroredCollection, { stats }: ActiveSync, tally: PageTally): void {
  tenant.emit({ type: 'sync-page', collection: settings.name, stats, tally });
}

/** Makes the sync's clock, by the hub's time at its earliest page. */
function clockOf(
  { findings, settings }: MirroredCollection,
  stats: SyncStats,
): (hubTimeMs: number | null) => SyncClock {
  const { skewMs: previousSkewMs } = findings;
  const { startedAtMs: localTimeMs } = stats;
  return (hubTimeMs) => {
    const overlapMs = settings.deltaOverlapMs;
    const clock = syncClock({ hubTimeMs, localTimeMs, previousSkewMs, overlapMs });
    findings.skewMs = clock.skewMs;
    stats.startedAtMs = clock.startedAtMs;
    return clock;
  };
}

/**
 * The time from which an incremental sync reads, hub time in ms. The stored watermark already includes the overlap of
 * its time. After a restart that overlap is unknown, so the sync goes back by the current overlap once more; a raised
 * overlap thus takes effect at once. Rows read twice are no change.
 */
function incrementalBegin(own: MirroredCollection): number | undefined {
  const watermarkMs = own.writer.progress?.watermarkMs ?? null;
  if (watermarkMs === null) return undefined;
  const isInherited = watermarkMs === own.inheritedWatermarkMs;
  return isInherited ? watermarkMs - own.settings.deltaOverlapMs : watermarkMs;
}

/** A 32-bit seed from the hexadecimal digits of a random id. */
function seedFrom(syncId: string): number {
  return Number.parseInt(syncId.replaceAll('-', '').slice(0, 8), 16) | 0;
}

/**
 * Ends a sync whose scans have ended: decides whether they saw everything, settles what they did not see, and commits the
 * last transaction, which moves the watermark.
 */
async function completeSync(run: RunningSync, scanned: Scanned): Promise<SyncResult | ReplacedSync> {
  const { own, sync } = run;
  const { clock, scans } = scanned;
  const { writer, findings } = own;
  const { stats } = sync;
  stats.totalAtStart = sumOrNull(scans.map(({ totalAtStart }) => totalAtStart));
  stats.totalAtEnd = sumOrNull(scans.map(({ totalAtEnd }) => totalAtEnd));
  const isPart = scans.length < run.reading.scopes.size;
  // A row skipped as stale may have been the newer one: it must be read again (invariant 2).
  const reached = writer.progress?.watermarkMs ?? (isPart ? null : clock.watermarkMs);
  const mayAdvance = stats.rowsStale === 0 && !isPart && (sync.isFull || !findings.isInconclusive);
  const watermarkMs = mayAdvance ? clock.watermarkMs : reached;
  if (!sync.isFull) return completeIncremental(run, scans, watermarkMs);
  // Each page was accepted.
  if (stats.rowsSeen > 0) writer.committed.noteForeign(null);
  const settled = await settleMissing(run, scanned);
  const { inconclusive: why, short, unconfirmed, confirmAtMs, approved, remember } = settled;
  const { rowsWithheld: withheld } = writer.committed.settled;
  // A part of the scopes says nothing of the others.
  const isInconclusive = why !== null || (isPart && findings.isInconclusive);
  findings.noteFullSync({ isInconclusive, scans, isConfirming: run.isConfirming });
  if (why !== null) {
    await writer.flush(sync, 'incomplete');
    await remember();
    return { kind: 'inconclusive', stats, why, withheld, short, confirmAtMs, approvedGone: approved };
  }
  if (!isPart) await clearRejects(run, scans);
  await writer.flush(sync, { watermarkMs, isWhole: !isPart });
  await remember();
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
  { own, sync }: RunningSync,
  scans: readonly ScanEvidence[],
  watermarkMs: number | null,
): Promise<SyncResult | ReplacedSync> {
  const { writer, findings } = own;
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
  if (hasNews || own.source.changes === undefined) await writer.flush(sync, { watermarkMs, isWhole: false });
  return { kind: 'complete', stats, withheld, short: null, unconfirmed: 0, confirmAtMs: null };
}

/** An offset scan may have skipped an existing row, unless the count agrees, or there was none to move. */
function mayClearRejects(scan: ScanEvidence): boolean {
  const hasSkippedNone = !scan.byOffset || scan.distinctRows === 0 || hasAgreed(scan);
  return scan.ending === 'proper' && judgeScope(scan).kind !== 'short' && hasSkippedNone;
}

/** Removes the rejects of unreadable rows that have left the hub, or have other content now; not those of scopes in doubt. */
async function clearRejects({ own, sync }: RunningSync, scans: readonly ScanEvidence[]): Promise<void> {
  const { writer, source } = own;
  if (writer.known.rejects === 0) return;
  const inDoubt = new Set(scans.filter((scan) => !mayClearRejects(scan)).map(({ scope }) => scope));
  const isClear = (key: string): boolean => !inDoubt.has(source.scopeOf(key));
  const gone = await writer.read((table) => table.unseen('rejects', sync, isClear));
  await writer.remove(sync, 'rejects', gone.keys);
}

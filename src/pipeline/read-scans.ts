import { canVerifyIdentity, judgeOverlap } from '../core/tenant-identity.ts';
import type { KeyedRow } from '../core/page-decision.ts';
import { sumOrNull } from '../core/sum-or-null.ts';
import { deltaFrom, isOversizedDelta, syncClock, type SyncClock } from '../core/watermark.ts';
import { RollcallError } from '../errors.ts';
import type { ActiveSync } from './active-sync.ts';
import { WRONG_TENANT_REMEDY } from './tenant-identity.ts';
import type { SyncParts } from './sync-parts.ts';
import type { SourceEnd, SourcePage, SourceScan } from './source-page.ts';

/** What reading all of a collection, or all that changed, came to; the rows are with the writer. */
export interface Scanned {
  readonly ends: readonly SourceEnd[];
  /** Values that came empty and held something before: the end of the pass decides on them. */
  readonly becameEmpty: readonly KeyedRow[];
  readonly clock: SyncClock;
}

export interface ReadScansOptions {
  readonly parts: SyncParts;
  readonly sync: ActiveSync;
  readonly knownRowsBefore: number;
  /** A person said that quite other rows than before are right. */
  readonly acceptNew: boolean;
  readonly localStartMs: number;
  readonly signal: AbortSignal;
}

/** Keys of known rows that a pass remembers having met. */
const MET_KEPT = 3;

/** Reads every walk of a pass into the writer. `wholesale`: a delta that would bring most of the collection. */
export async function readScans(options: ReadScansOptions): Promise<Scanned | 'wholesale'> {
  const { parts, sync } = options;
  // Where many parents came into the configuration, the first pages would hold nothing that is known.
  const scans = await parts.scans(sync.seen === null ? undefined : 'known-first');
  const intake = new Intake(options, scans.length === 1);
  const ends: SourceEnd[] = [];
  for (const scan of scans) {
    if (scan.isOfNewParent === true && (await intake.close()) === 'wholesale') return 'wholesale';
    const end = await readScan(options, scan, intake);
    if (end === 'wholesale') return end;
    ends.push(end);
  }
  if ((await intake.close()) === 'wholesale') return 'wholesale';
  sync.stats.totalAtStart = sumOrNull(ends.map(({ totalAtStart }) => totalAtStart));
  sync.stats.totalAtEnd = sumOrNull(ends.map(({ totalAtEnd }) => totalAtEnd));
  return { ends, becameEmpty: intake.becameEmpty, clock: intake.clock ?? intake.startClock(null) };
}

async function readScan(
  { parts, sync, signal }: ReadScansOptions,
  scan: SourceScan,
  intake: Intake,
): Promise<SourceEnd | 'wholesale'> {
  const { writer } = parts;
  const modifiedAfterMs = sync.stats.mode === 'DELTA' ? deltaBegin(parts) : undefined;
  const pages = scan.open({ modifiedAfterMs, readVersion: writer.readVersion, signal });
  try {
    let next = ahead(pages);
    for (;;) {
      // Commit while the next page is on its way; with pages waiting, gather more rows for one transaction.
      const hasToWait = intake.isSingle && writer.hasPending && !(await isReady(next));
      if (writer.isFull || hasToWait) await writer.flush(sync);
      const step = await next;
      if (step.done === true) return step.value;
      next = ahead(pages);
      if ((await intake.take(step.value)) === 'wholesale') return 'wholesale';
    }
  } finally {
    await pages.return(undefined as never).catch(() => undefined);
  }
}

function deltaBegin({ writer, inheritedWatermarkMs, overlapMs }: SyncParts): number | undefined {
  const watermarkMs = writer.progress?.watermarkMs ?? null;
  if (watermarkMs === null) return undefined;
  return deltaFrom({ watermarkMs, isInherited: watermarkMs === inheritedWatermarkMs, overlapMs });
}

/** What stands between the pages and the writer. */
class Intake {
  /** Of many short walks each would end in a small transaction of its own. */
  readonly isSingle: boolean;
  readonly becameEmpty: KeyedRow[] = [];
  clock: SyncClock | null = null;
  readonly #options: ReadScansOptions;
  /** First pages, until it is clear that they are this tenant's. */
  #deferred: SourcePage[] | null;
  #deferredRows = 0;
  #deferredKnown = 0;
  readonly #canDoubt: boolean;
  /** Of rows that this pass met and that were known before it. */
  #metKnown: readonly string[] = [];
  #isVerified = false;
  #pages = 0;

  constructor(options: ReadScansOptions, isSingle: boolean) {
    this.#options = options;
    this.isSingle = isSingle;
    this.#canDoubt = !options.acceptNew && options.parts.identity !== null;
    this.#deferred = this.#canDoubt && canVerifyIdentity(options.knownRowsBefore) ? [] : null;
  }

  async take(page: SourcePage): Promise<'wholesale' | null> {
    const { sync, knownRowsBefore } = this.#options;
    this.clock ??= this.startClock(page.hubTimeMs);
    if (this.isSingle) sync.stats.totalAtStart ??= page.total;
    this.#pages += 1;
    if (this.#deferred !== null) return this.#defer(this.#deferred, page);
    if ((await this.#accept(page, { isJudged: false })) === 'wholesale') return 'wholesale';
    const isLongDelta = sync.seen === null && this.#pages > 1;
    return isLongDelta && isOversizedDelta(sync.stats.rowsSeen, knownRowsBefore) ? 'wholesale' : null;
  }

  /** Of what was to be known no more pages come: what was held is judged by what there is. */
  async close(): Promise<'wholesale' | null> {
    return this.#deferred === null ? null : this.#defer(this.#deferred, null);
  }

  /** The clock of the pass, by the hub's time at its first page. */
  startClock(hubTimeMs: number | null): SyncClock {
    const { parts, sync, localStartMs } = this.#options;
    const started = syncClock({
      hubTimeMs,
      localTimeMs: localStartMs,
      previousSkewMs: parts.clock.skewMs,
      overlapMs: parts.overlapMs,
    });
    parts.clock.skewMs = started.skewMs;
    sync.stats.startedAtMs = started.startedAtMs;
    return started;
  }

  /** `page` null: there are no more. */
  async #defer(held: SourcePage[], page: SourcePage | null): Promise<'wholesale' | null> {
    const { parts, sync, knownRowsBefore } = this.#options;
    if (page !== null) {
      held.push(page);
      const keys = keysOf(page);
      this.#deferredRows += keys.length;
      const known = await parts.writer.known(keys);
      this.#deferredKnown += known.length;
      this.#metKnown = [...this.#metKnown, ...known].slice(-MET_KEPT);
    }
    const rows = this.#deferredRows;
    // A few new rows are what a delta is for.
    const isFew = sync.seen === null && page === null && !isOversizedDelta(rows, knownRowsBefore);
    const first = {
      rows,
      knownAmongThem: this.#deferredKnown,
      knownRows: knownRowsBefore,
      pages: held.length,
      isAll: page === null,
    };
    const verdict = isFew ? 'own' : judgeOverlap(first);
    if (verdict === 'unsure') return null;
    if (verdict === 'wrong-tenant') {
      if (sync.seen !== null)
        throw await this.#wrongTenant(`${this.#deferredKnown} of the first ${rows} rows are known`);
      return 'wholesale';
    }
    this.#deferred = null;
    for (const each of held) {
      if ((await this.#accept(each, { isJudged: this.#deferredKnown > 0 })) === 'wholesale')
        return 'wholesale';
    }
    return null;
  }

  async #wrongTenant(seen: string): Promise<RollcallError> {
    const { parts, knownRowsBefore } = this.#options;
    const { collection } = parts.deletions;
    await parts.identity?.flag(collection);
    return new RollcallError(
      'HUB_FOREIGN_DATA',
      `The hub gives quite other rows for ${collection} than the ${knownRowsBefore} there were: ${seen}`,
      { remedy: `Nothing of them was published. ${WRONG_TENANT_REMEDY}` },
    );
  }

  /**
   * A page of nothing but new rows may be the first of another tenant's: of a delta, which would take them for
   * changes; of a full pass amid which the hub was switched; of a collection too small to tell. Known rows are asked for.
   */
  async #verifyIdentity(page: SourcePage): Promise<'wholesale' | null> {
    const { parts, sync, knownRowsBefore } = this.#options;
    const { collection } = parts.deletions;
    const verdict = (await parts.identity?.verify(collection, this.#metKnown)) ?? 'unknown';
    if (verdict === 'wrong-tenant' && sync.seen !== null)
      throw await this.#wrongTenant('the hub has none of these');
    if (verdict === 'wrong-tenant') return 'wholesale';
    const isTold = verdict === 'own' || sync.seen !== null || !canVerifyIdentity(knownRowsBefore);
    if (!isTold && !(await this.#listsKnownRows())) return 'wholesale';
    // The right hub may be back since the page was sent: then it does not know the page's rows.
    const isHere = (await parts.identity?.stillHas(collection, keysOf(page))) ?? true;
    if (!isHere && sync.seen !== null)
      throw await this.#wrongTenant('asked again, the hub has none of these');
    if (!isHere) return 'wholesale';
    this.#isVerified = true;
    return null;
  }

  /** The collection came with quite other rows: when a full pass meets its own again, it stops nothing any more. */
  async #isBack(page: SourcePage, isJudged: boolean): Promise<'wholesale' | null> {
    const { parts, sync } = this.#options;
    const keys = keysOf(page);
    if (keys.length === 0 || sync.seen === null) return null;
    const isTold = isJudged || (await parts.writer.known(keys)).length > 0;
    if (!isTold && (await this.#verifyIdentity(page)) === 'wholesale') return 'wholesale';
    await parts.identity?.clear(parts.deletions.collection);
    return null;
  }

  /** Whether the hub's list, read from its beginning, holds known rows: for hubs that cannot be asked for single ones. */
  async #listsKnownRows(): Promise<boolean> {
    const { parts, signal } = this.#options;
    for (const scan of await parts.scans('known-first')) {
      const pages = scan.open({ modifiedAfterMs: undefined, readVersion: parts.writer.readVersion, signal });
      try {
        const first = await pages.next();
        if (first.done === true || first.value.readings.length === 0) continue;
        return (await parts.writer.known(keysOf(first.value))).length > 0;
      } finally {
        await pages.return(undefined as never).catch(() => undefined);
      }
    }
    return false;
  }

  /** `isJudged`: by the rows it came with, it is this tenant's. */
  async #accept(page: SourcePage, { isJudged }: { isJudged: boolean }): Promise<'wholesale' | null> {
    const { parts, sync, knownRowsBefore, acceptNew } = this.#options;
    const { writer, identity, deletions } = parts;
    if (!acceptNew && identity !== null) {
      if (identity.isFlagged(deletions.collection) && (await this.#isBack(page, isJudged)) === 'wholesale')
        return 'wholesale';
      await identity.require(deletions.collection);
    }
    const empty = page.readings.filter(({ becameEmpty }) => becameEmpty === true);
    let { readings } = page;
    if (empty.length > 0) {
      // These wait for the end of the pass, where the guard looks at all losses together.
      const late = new Set(await writer.differing(empty));
      for (const { key } of late) if (key !== null) sync.seen?.add(key);
      this.becameEmpty.push(...late);
      readings = readings.filter((reading) => !late.has(reading));
    }
    const taken = { readings, readVersion: page.readVersion };
    const isTold = isJudged || (knownRowsBefore === 0 && this.#isVerified);
    let tally = this.#canDoubt && !isTold ? await writer.acceptUnlessAllNew(sync, taken) : null;
    if (tally === null) {
      if (this.#canDoubt && !isTold && (await this.#verifyIdentity(page)) === 'wholesale') return 'wholesale';
      tally = await writer.accept(sync, taken);
    }
    if (sync.seen === null) {
      for (const { key, decoded: reading } of readings) {
        if (key !== null && reading.modifiedAtMs !== null) parts.late.noteMet(key, reading.modifiedAtMs);
      }
    }
    parts.onPage(sync.stats, tally);
    return null;
  }
}

function keysOf(page: SourcePage): string[] {
  return page.readings.flatMap(({ key }) => key ?? []);
}

/** The generator's next step, which may fail before anyone awaits it. */
function ahead<T, R>(pages: AsyncGenerator<T, R>): Promise<IteratorResult<T, R>> {
  const next = pages.next();
  next.catch(() => undefined);
  return next;
}

/** Whether a promise is settled by the next turn of the event loop. */
async function isReady(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

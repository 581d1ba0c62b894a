import { canTellForeign, judgeOverlap } from '../core/foreign-data.ts';
import type { KeyedReading } from '../core/page-decision.ts';
import { sumOrNull } from '../core/sum-or-null.ts';
import { deltaFrom, deltaIsWholesale, passClock, type PassClock } from '../core/watermark.ts';
import { RollcallError } from '../errors.ts';
import type { ActivePass } from './active-pass.ts';
import { FOREIGN_REMEDY } from './foreign-watch.ts';
import type { PassParts, SourceEnd, SourcePage, SourceWalk } from './pass.ts';

/** What reading all of a collection, or all that changed, came to; the rows are with the writer. */
export interface Walked {
  readonly ends: readonly SourceEnd[];
  /** Values that came empty and held something before: the end of the pass decides on them. */
  readonly emptied: readonly KeyedReading[];
  readonly clock: PassClock;
}

export interface ReadWalksOptions {
  readonly parts: PassParts;
  readonly pass: ActivePass;
  readonly knownRowsBefore: number;
  /** A person said that quite other rows than before are right. */
  readonly acceptNew: boolean;
  readonly localStartMs: number;
  readonly signal: AbortSignal;
}

/** Keys of known rows that a pass remembers having met. */
const MET_KEPT = 3;

/** Reads every walk of a pass into the writer. `wholesale`: a delta that would bring most of the collection. */
export async function readWalks(options: ReadWalksOptions): Promise<Walked | 'wholesale'> {
  const { parts, pass } = options;
  // Where many parents came into the configuration, the first pages would hold nothing that is known.
  const walks = await parts.walks(pass.seen === null ? undefined : 'known-first');
  const intake = new Intake(options, walks.length === 1);
  const ends: SourceEnd[] = [];
  for (const walk of walks) {
    if (walk.isOfNewParent === true && (await intake.close()) === 'wholesale') return 'wholesale';
    const end = await readWalk(options, walk, intake);
    if (end === 'wholesale') return end;
    ends.push(end);
  }
  if ((await intake.close()) === 'wholesale') return 'wholesale';
  pass.stats.totalAtStart = sumOrNull(ends.map(({ totalAtStart }) => totalAtStart));
  pass.stats.totalAtEnd = sumOrNull(ends.map(({ totalAtEnd }) => totalAtEnd));
  return { ends, emptied: intake.emptied, clock: intake.clock ?? intake.startClock(null) };
}

async function readWalk(
  { parts, pass, signal }: ReadWalksOptions,
  walk: SourceWalk,
  intake: Intake,
): Promise<SourceEnd | 'wholesale'> {
  const { writer } = parts;
  const modifiedAfterMs = pass.stats.mode === 'DELTA' ? deltaBegin(parts) : undefined;
  const pages = walk.open({ modifiedAfterMs, stamp: writer.stamp, signal });
  try {
    let next = ahead(pages);
    for (;;) {
      // Commit while the next page is on its way; with pages waiting, gather more rows for one transaction.
      const hasToWait = intake.isSingle && writer.hasPending && !(await isSettled(next));
      if (writer.isFull || hasToWait) await writer.flush(pass);
      const step = await next;
      if (step.done === true) return step.value;
      next = ahead(pages);
      if ((await intake.take(step.value)) === 'wholesale') return 'wholesale';
    }
  } finally {
    await pages.return(undefined as never).catch(() => undefined);
  }
}

function deltaBegin({ writer, inheritedWatermarkMs, overlapMs }: PassParts): number | undefined {
  const watermarkMs = writer.progress?.watermarkMs ?? null;
  if (watermarkMs === null) return undefined;
  return deltaFrom({ watermarkMs, isInherited: watermarkMs === inheritedWatermarkMs, overlapMs });
}

/** What stands between the pages and the writer. */
class Intake {
  /** Of many short walks each would end in a small transaction of its own. */
  readonly isSingle: boolean;
  readonly emptied: KeyedReading[] = [];
  clock: PassClock | null = null;
  readonly #options: ReadWalksOptions;
  /** First pages, until it is clear that they are this tenant's. */
  #held: SourcePage[] | null;
  #heldRows = 0;
  #heldKnown = 0;
  readonly #canDoubt: boolean;
  /** Of rows that this pass met and that were known before it. */
  #metKnown: readonly string[] = [];
  #isVouchedFor = false;
  #pages = 0;

  constructor(options: ReadWalksOptions, isSingle: boolean) {
    this.#options = options;
    this.isSingle = isSingle;
    this.#canDoubt = !options.acceptNew && options.parts.foreign !== null;
    this.#held = this.#canDoubt && canTellForeign(options.knownRowsBefore) ? [] : null;
  }

  async take(page: SourcePage): Promise<'wholesale' | null> {
    const { pass, knownRowsBefore } = this.#options;
    this.clock ??= this.startClock(page.hubTimeMs);
    if (this.isSingle) pass.stats.totalAtStart ??= page.total;
    this.#pages += 1;
    if (this.#held !== null) return this.#hold(this.#held, page);
    if ((await this.#accept(page, { isJudged: false })) === 'wholesale') return 'wholesale';
    const isLongDelta = pass.seen === null && this.#pages > 1;
    return isLongDelta && deltaIsWholesale(pass.stats.rowsSeen, knownRowsBefore) ? 'wholesale' : null;
  }

  /** Of what was to be known no more pages come: what was held is judged by what there is. */
  async close(): Promise<'wholesale' | null> {
    return this.#held === null ? null : this.#hold(this.#held, null);
  }

  /** The clock of the pass, by the hub's time at its first page. */
  startClock(hubTimeMs: number | null): PassClock {
    const { parts, pass, localStartMs } = this.#options;
    const started = passClock({
      hubTimeMs,
      localTimeMs: localStartMs,
      previousSkewMs: parts.clock.skewMs,
      overlapMs: parts.overlapMs,
    });
    parts.clock.skewMs = started.skewMs;
    pass.stats.startedAtMs = started.startedAtMs;
    return started;
  }

  /** `page` null: there are no more. */
  async #hold(held: SourcePage[], page: SourcePage | null): Promise<'wholesale' | null> {
    const { parts, pass, knownRowsBefore } = this.#options;
    if (page !== null) {
      held.push(page);
      const keys = keysOf(page);
      this.#heldRows += keys.length;
      const known = await parts.writer.known(keys);
      this.#heldKnown += known.length;
      this.#metKnown = [...this.#metKnown, ...known].slice(-MET_KEPT);
    }
    const rows = this.#heldRows;
    // A few new rows are what a delta is for.
    const isFew = pass.seen === null && page === null && !deltaIsWholesale(rows, knownRowsBefore);
    const first = {
      rows,
      knownAmongThem: this.#heldKnown,
      knownRows: knownRowsBefore,
      pages: held.length,
      isAll: page === null,
    };
    const verdict = isFew ? 'own' : judgeOverlap(first);
    if (verdict === 'unsure') return null;
    if (verdict === 'foreign') {
      if (pass.seen !== null)
        throw await this.#foreign(`${this.#heldKnown} of the first ${rows} rows are known`);
      return 'wholesale';
    }
    this.#held = null;
    for (const each of held) {
      if ((await this.#accept(each, { isJudged: this.#heldKnown > 0 })) === 'wholesale') return 'wholesale';
    }
    return null;
  }

  async #foreign(seen: string): Promise<RollcallError> {
    const { parts, knownRowsBefore } = this.#options;
    const { collection } = parts.deletions;
    await parts.foreign?.flag(collection);
    return new RollcallError(
      'HUB_FOREIGN_DATA',
      `The hub gives quite other rows for ${collection} than the ${knownRowsBefore} there were: ${seen}`,
      { remedy: `Nothing of them was published. ${FOREIGN_REMEDY}` },
    );
  }

  /**
   * A page of nothing but new rows may be the first of another tenant's: of a delta, which would take them for
   * changes; of a full pass amid which the hub was switched; of a collection too small to tell. Known rows are asked for.
   */
  async #vouch(page: SourcePage): Promise<'wholesale' | null> {
    const { parts, pass, knownRowsBefore } = this.#options;
    const { collection } = parts.deletions;
    const verdict = (await parts.foreign?.vouch(collection, this.#metKnown)) ?? 'unknown';
    if (verdict === 'foreign' && pass.seen !== null) throw await this.#foreign('the hub has none of these');
    if (verdict === 'foreign') return 'wholesale';
    const isTold = verdict === 'own' || pass.seen !== null || !canTellForeign(knownRowsBefore);
    if (!isTold && !(await this.#showsKnown())) return 'wholesale';
    // The right hub may be back since the page was sent: then it does not know the page's rows.
    const isHere = (await parts.foreign?.shows(collection, keysOf(page))) ?? true;
    if (!isHere && pass.seen !== null) throw await this.#foreign('asked again, the hub has none of these');
    if (!isHere) return 'wholesale';
    this.#isVouchedFor = true;
    return null;
  }

  /** The collection came with quite other rows: when a full pass meets its own again, it stops nothing any more. */
  async #isBack(page: SourcePage, isJudged: boolean): Promise<'wholesale' | null> {
    const { parts, pass } = this.#options;
    const keys = keysOf(page);
    if (keys.length === 0 || pass.seen === null) return null;
    const isTold = isJudged || (await parts.writer.known(keys)).length > 0;
    if (!isTold && (await this.#vouch(page)) === 'wholesale') return 'wholesale';
    await parts.foreign?.clear(parts.deletions.collection);
    return null;
  }

  /** Whether the hub's list, read from its beginning, holds known rows: for hubs that cannot be asked for single ones. */
  async #showsKnown(): Promise<boolean> {
    const { parts, signal } = this.#options;
    for (const walk of await parts.walks('known-first')) {
      const pages = walk.open({ modifiedAfterMs: undefined, stamp: parts.writer.stamp, signal });
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
    const { parts, pass, knownRowsBefore, acceptNew } = this.#options;
    const { writer, foreign, deletions } = parts;
    if (!acceptNew && foreign !== null) {
      if (foreign.isFlagged(deletions.collection) && (await this.#isBack(page, isJudged)) === 'wholesale')
        return 'wholesale';
      await foreign.requireOwn(deletions.collection);
    }
    const empty = page.readings.filter(({ isEmptied }) => isEmptied === true);
    let { readings } = page;
    if (empty.length > 0) {
      // These wait for the end of the pass, where the guard looks at all losses together.
      const late = new Set(await writer.differing(empty));
      for (const { key } of late) if (key !== null) pass.seen?.add(key);
      this.emptied.push(...late);
      readings = readings.filter((reading) => !late.has(reading));
    }
    const taken = { readings, stamp: page.stamp };
    const isTold = isJudged || (knownRowsBefore === 0 && this.#isVouchedFor);
    let tally = this.#canDoubt && !isTold ? await writer.acceptUnlessAllNew(pass, taken) : null;
    if (tally === null) {
      if (this.#canDoubt && !isTold && (await this.#vouch(page)) === 'wholesale') return 'wholesale';
      tally = await writer.accept(pass, taken);
    }
    if (pass.seen === null) {
      for (const { key, reading } of readings) {
        if (key !== null && reading.modifiedAtMs !== null) parts.late.noteMet(key, reading.modifiedAtMs);
      }
    }
    parts.onPage(pass.stats, tally);
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
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

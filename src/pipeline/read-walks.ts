import { canTellForeign, judgeOverlap } from '../core/foreign-data.ts';
import type { KeyedReading } from '../core/page-decision.ts';
import { deltaIsWholesale, passClock, type PassClock } from '../core/watermark.ts';
import { RollcallError } from '../errors.ts';
import type { WalkEnd } from '../hub/hub.ts';
import type { ActivePass } from './active-pass.ts';
import type { PassParts, SourcePage, SourceWalk } from './pass.ts';

/** What reading all of a collection, or all that changed, came to; the rows are with the writer. */
export interface Walked {
  readonly ends: readonly WalkEnd[];
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

/** Reads every walk of a pass into the writer. `wholesale`: a delta that would bring most of the collection. */
export async function readWalks(options: ReadWalksOptions): Promise<Walked | 'wholesale'> {
  const { parts, pass } = options;
  const walks = await parts.walks();
  const intake = new Intake(options, walks.length === 1);
  const ends: WalkEnd[] = [];
  for (const walk of walks) {
    const end = await readWalk(options, walk, intake);
    if (end === 'wholesale') return end;
    ends.push(end);
  }
  pass.stats.totalAtStart = sumOrNull(ends.map(({ totalAtStart }) => totalAtStart));
  pass.stats.totalAtEnd = sumOrNull(ends.map(({ totalAtEnd }) => totalAtEnd));
  return { ends, emptied: intake.emptied, clock: intake.clock ?? intake.startClock(null) };
}

async function readWalk(
  { parts, pass, signal }: ReadWalksOptions,
  walk: SourceWalk,
  intake: Intake,
): Promise<WalkEnd | 'wholesale'> {
  const { writer } = parts;
  const watermarkMs = pass.stats.mode === 'DELTA' ? (writer.progress?.watermarkMs ?? undefined) : undefined;
  const pages = walk.open({ modifiedAfterMs: watermarkMs, stamp: writer.stamp, signal });
  try {
    let next = ahead(pages);
    for (;;) {
      // Commit while the next page is on its way; with pages waiting, gather more rows for one transaction.
      const hasToWait = intake.isSingle && writer.hasPending && !(await isSettled(next));
      if (writer.isFull || hasToWait) await writer.flush(pass);
      const step = await next;
      if (step.done === true) return (await intake.close()) ?? step.value;
      next = ahead(pages);
      if ((await intake.take(step.value)) === 'wholesale') return 'wholesale';
    }
  } finally {
    await pages.return(undefined as never).catch(() => undefined);
  }
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
  #pages = 0;

  constructor(options: ReadWalksOptions, isSingle: boolean) {
    this.#options = options;
    this.isSingle = isSingle;
    this.#held = isSingle && !options.acceptNew && canTellForeign(options.knownRowsBefore) ? [] : null;
  }

  async take(page: SourcePage): Promise<'wholesale' | null> {
    const { pass, knownRowsBefore } = this.#options;
    this.clock ??= this.startClock(page.hubTimeMs);
    if (this.isSingle) pass.stats.totalAtStart ??= page.total;
    this.#pages += 1;
    if (this.#held !== null) return this.#hold(this.#held, page);
    await this.#accept(page);
    const isLongDelta = pass.seen === null && this.#pages > 1;
    return isLongDelta && deltaIsWholesale(pass.stats.rowsSeen, knownRowsBefore) ? 'wholesale' : null;
  }

  /** The walk has ended: what was held is judged by what there is. */
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
      this.#heldKnown += await parts.writer.countKnown(keys);
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
      if (pass.seen !== null) throw this.#foreign();
      return 'wholesale';
    }
    this.#held = null;
    for (const each of held) await this.#accept(each);
    return null;
  }

  #foreign(): RollcallError {
    const { parts, knownRowsBefore } = this.#options;
    const seen = `${this.#heldKnown} of the first ${this.#heldRows} rows are known`;
    return new RollcallError(
      'HUB_FOREIGN_DATA',
      `The hub gives quite other rows for ${parts.deletions.collection} than the ${knownRowsBefore} there were: ${seen}`,
      {
        remedy:
          'Nothing was published. Check hub.baseUrl and the credentials; if the data was replaced on purpose: rollcall pull --full --accept-new.',
      },
    );
  }

  async #accept(page: SourcePage): Promise<void> {
    const { parts, pass } = this.#options;
    const { writer } = parts;
    const empty = page.readings.filter(({ isEmptied }) => isEmptied === true);
    let { readings } = page;
    if (empty.length > 0) {
      // These wait for the end of the pass, where the guard looks at all losses together.
      const late = new Set(await writer.differing(empty));
      for (const { key } of late) if (key !== null) pass.seen?.add(key);
      this.emptied.push(...late);
      readings = readings.filter((reading) => !late.has(reading));
    }
    parts.onPage(pass.stats, await writer.accept(pass, { readings, stamp: page.stamp }));
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

function sumOrNull(totals: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const total of totals) {
    if (total === null) return null;
    sum += total;
  }
  return sum;
}

import type { FoundRow, Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import type { SimulatedRow } from './simulated-row.ts';
import { keysetPages } from '../parts/keyset-pages.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';

const PAGE_ROWS = 4;
/** These rows never leave, so that the guard never finds half of the rows gone. */
const RESIDENTS = 24;
const GUESTS = 14;
const UNSTAMPED_CHANGES = 4;

/**
 * A hub with keyset paging whose rows change while they are read: they get new content, leave, come back, become unreadable
 * and readable again, and are re-stamped all at once. It looks a page up some time after the request and delivers it later
 * still; any request may fail. Its clock is that of the history.
 */
export class LivingHub implements Hub {
  readonly #at: Surroundings;
  readonly #rows = new Map<string, SimulatedRow>();
  /** When each row left, ms since the epoch. */
  readonly #departures = new Map<string, number[]>();
  /** Pages that were recognised so far. */
  pagesKnown = 0;
  #version = 0;
  #isStill = false;

  constructor(at: Surroundings) {
    this.#at = at;
    for (let number = 0; number < RESIDENTS; number += 1) this.#put(idOf(number), true);
  }

  get rows(): ReadonlyMap<string, SimulatedRow> {
    return this.#rows;
  }

  departuresOf(id: string): readonly number[] {
    return this.#departures.get(id) ?? [];
  }

  /** Changes the hub until {@link freeze}. */
  async live(): Promise<void> {
    while (!this.#isStill) {
      await dawdle(this.#at, 12);
      this.#change();
    }
  }

  freeze(): void {
    this.#isStill = true;
  }

  /** Some rows get new content, leave or come, and no time of modification shows it: only a full sync can. */
  changeUnstamped(): void {
    const { random } = this.#at;
    for (let change = 0; change < UNSTAMPED_CHANGES; change += 1) {
      const row = random.pick([...this.#rows.values()]);
      if (random.chance(0.5)) this.#put(row.sourcedId, row.isReadable, row.modifiedAtMs);
      else this.#comeOrGo(idOf(RESIDENTS + random.below(GUESTS)), 0);
    }
  }

  readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd> {
    const listing = {
      at: this.#at,
      pageRows: PAGE_ROWS,
      failure: 0.03,
      longestMs: 80,
      select: (after: string, modifiedAfterMs: number | undefined) => this.#select(after, modifiedAfterMs),
      idOf: ({ sourcedId }: SimulatedRow) => sourcedId,
      handOut: (row: SimulatedRow) => row,
      onKnown: () => (this.pagesKnown += 1),
    };
    return withTwins(keysetPages(listing, options));
  }

  async findRows({
    ids,
    readVersion,
    signal,
  }: {
    ids: readonly string[];
    readVersion: () => number;
    signal: AbortSignal;
  }): Promise<FoundRow[]> {
    const sent = readVersion();
    await dawdle(this.#at, 3);
    signal.throwIfAborted();
    if (strikes(this.#at, 0.1)) throw simulatedError('HUB_TIMEOUT');
    const found = [...new Set(ids)].map((id) => this.#rows.get(id)).filter((row) => row !== undefined);
    await dawdle(this.#at, 3);
    return found.map((row) => ({ row, isUtf8: true, readVersion: sent }));
  }

  #select(after: string, modifiedAfterMs: number | undefined): SimulatedRow[] {
    return [...this.#rows.values()]
      .filter(({ sourcedId }) => sourcedId > after)
      .filter((row) => modifiedAfterMs === undefined || row.modifiedAtMs > modifiedAfterMs)
      .sort((a, b) => (a.sourcedId < b.sourcedId ? -1 : 1));
  }

  #change(): void {
    const { random, time } = this.#at;
    const row = random.pick([...this.#rows.values()]);
    const what = random.next();
    if (what < 0.65) this.#put(row.sourcedId, row.isReadable || random.chance(0.5));
    else if (what < 0.8) this.#put(row.sourcedId, !row.isReadable);
    else if (what < 0.985) this.#comeOrGo(idOf(RESIDENTS + random.below(GUESTS)));
    else for (const each of this.#rows.values()) this.#restamp(each, time.now());
  }

  #comeOrGo(guest: string, modifiedAtMs?: number): void {
    if (this.#rows.delete(guest)) {
      this.#departures.set(guest, [...this.departuresOf(guest), this.#at.time.now()]);
    } else {
      this.#put(guest, true, modifiedAtMs);
    }
  }

  #put(sourcedId: string, isReadable: boolean, modifiedAtMs = this.#at.time.now()): void {
    this.#version += 1;
    this.#rows.set(sourcedId, { sourcedId, version: this.#version, modifiedAtMs, isReadable });
  }

  #restamp(row: SimulatedRow, modifiedAtMs: number): void {
    this.#rows.set(row.sourcedId, { ...row, modifiedAtMs });
  }
}

/**
 * Some pages hold a second row under an id, right behind the first one: an older version, which no sync may publish.
 */
async function* withTwins(pages: AsyncGenerator<HubPage, ScanEnd>): AsyncGenerator<HubPage, ScanEnd> {
  for (;;) {
    const step = await pages.next();
    if (step.done === true) return step.value;
    const rows = step.value.rows.flatMap((row) => {
      const { sourcedId, version } = row as SimulatedRow;
      const isDouble = version > 1 && Number(sourcedId.slice(1)) % 8 === 0;
      return isDouble ? [row, { ...(row as SimulatedRow), version: version - 1, isReadable: true }] : [row];
    });
    yield { ...step.value, rows };
  }
}

function idOf(number: number): string {
  return `k${String(number).padStart(2, '0')}`;
}

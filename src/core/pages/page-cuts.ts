import type { PageMemory, RememberedPage } from './page-memory.ts';

/** How many of the last ids of a page are looked up among the remembered rows: the very last ones may be new. */
const IDS_TO_LOOK_FOR = 8;
/** In how many remembered pages they are looked up: a page that lost many rows reaches into the pages behind it. */
const PAGES_TO_LOOK_IN = 8;

/** How a scan asks for its next page, so that this page, or the page behind it, is a page of the last full sync. */
export interface Cut {
  /** Rows to ask for; null: as many as usual. */
  readonly rows: number | null;
  /** The remembered page that is asked for, or that follows if the page ends as intended; null if no remembered page is expected. */
  readonly known: RememberedPage | null;
}

const AS_USUAL: Cut = { rows: null, known: null };

/**
 * Leads a full scan back to the places where the pages of the last full scan began. So a row that was inserted or
 * removed costs one page, and not all pages behind it.
 *
 * With one row more, the page ends before the remembered page did, and the next request asks only for the remaining
 * rows. With one row fewer, the page reaches into the next remembered page, and the next request asks for what is
 * left of that page. These are only hints: a page that ends elsewhere is read as always.
 */
export class PageCuts {
  readonly #pages: Pick<PageMemory, 'at'>;
  /** The remembered page that the scan has reached. */
  #near: RememberedPage | null = null;

  constructor(pages: Pick<PageMemory, 'at'>) {
    this.#pages = pages;
  }

  /** `idsBefore`: of the page before this cursor, in its order. `usual`: rows of a page. */
  at(cursor: string | null, { idsBefore, usual }: { idsBefore: readonly string[]; usual: number }): Cut {
    const known = this.#pages.at(cursor);
    if (known !== null) {
      this.#near = known;
      return { rows: known.limit, known };
    }
    const place = this.#placeOf(idsBefore);
    if (place === null) return AS_USUAL;
    this.#near = place.page;
    return this.#cutFrom(place, usual);
  }

  /** The remembered row with which the page before ended, or a row close to it. */
  #placeOf(idsBefore: readonly string[]): { page: RememberedPage; rowsLeft: number } | null {
    const begun = idsBefore.findLast((id) => this.#pages.at(id) !== null);
    const near = begun === undefined ? this.#near : this.#pages.at(begun);
    for (const id of idsBefore.slice(-IDS_TO_LOOK_FOR).toReversed()) {
      let page = near;
      for (let count = 0; page !== null && count < PAGES_TO_LOOK_IN; count += 1) {
        const at = page.keys.indexOf(id);
        if (at !== -1) return { page, rowsLeft: page.rows - at - 1 };
        page = this.#pages.at(page.lastId);
      }
    }
    return null;
  }

  /** Asks for the rest of a page together with short pages behind it, so that pages do not become ever shorter. */
  #cutFrom({ page, rowsLeft }: { page: RememberedPage; rowsLeft: number }, usual: number): Cut {
    let rows = rowsLeft;
    let last = page;
    let behind = this.#pages.at(last.lastId);
    while (behind !== null && rows + behind.rows <= usual) {
      rows += behind.rows;
      last = behind;
      behind = this.#pages.at(last.lastId);
    }
    // The last page of the list has room for rows that were appended.
    const isEnd = behind === null && last.rows < last.limit;
    return rows === 0 || rows > usual || isEnd ? AS_USUAL : { rows, known: behind };
  }
}

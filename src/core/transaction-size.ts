/** The most rows that a transaction may have: large enough to make its fixed cost small, small enough for memory (docs/performance.md). */
const MOST_ROWS = 2_000;
/** As many rows as a page has by default. */
const FIRST_ROWS = 1_000;
/** Half of the time after which the brokers abort a transaction. */
const LONGEST_MS = 30_000;

/**
 * How many rows of a collection a transaction may hold. The number follows from how long earlier commits took: a commit
 * is to end within half of the time-out of its transaction.
 */
export class TransactionSize {
  #rows = FIRST_ROWS;

  get rows(): number {
    return this.#rows;
  }

  /** How many rows are decided at once: all rows of a page, as long as a transaction may hold a page of the default size. */
  get rowsAtOnce(): number {
    return this.#rows < FIRST_ROWS ? Math.ceil(this.#rows / 4) : Infinity;
  }

  /** Notes how long the commit of this many rows took, or after how long it failed. */
  note(rows: number, tookMs: number): void {
    if (rows > 0 && tookMs > LONGEST_MS) this.#rows = Math.ceil((rows * LONGEST_MS) / tookMs);
    else if (rows * 2 >= this.#rows && tookMs * 2 < LONGEST_MS)
      this.#rows = Math.min(MOST_ROWS, this.#rows * 2);
  }
}

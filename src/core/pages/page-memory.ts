import { Fingerprints } from '../seen-keys.ts';
import { digestOf, type PageFingerprint } from './page-fingerprint.ts';

/** A page that can be recognised: all its rows were as the index has them. */
export interface RememberedPage extends Omit<PageFingerprint, 'ids'> {
  readonly rows: number;
  readonly lastId: string;
  readonly keys: Fingerprints;
  /** The version of the memory at which the page was last equal to the index. */
  confirmedAt: number;
}

/** The bound of all pages together: 4 million rows in pages of 1,000. */
const MOST_BYTES = 35_000_000;
const BYTES_OF_A_ROW = 8;
/** The cursor, address, digest, last id, and the objects that hold them. If pages are short, this is most of the memory. */
const BYTES_OF_A_PAGE = 900;
const MOST_CHANGES = 65_536;

/**
 * The pages of a collection's last full syncs, so that an unchanged page need not be parsed.
 *
 * One rule makes this safe: *a page is current only as long as none of its keys has changed since the page was equal
 * to the index.* A page is remembered directly after its rows were decided, if all of them equal the index (with the
 * staged changes on top). Every change that is staged later, whatever caused it, is noted here. So a text with the
 * same digest brings rows that all equal the index. If a row is changed and then changed back, its page is not
 * current either, until it is read again.
 *
 * The memory lasts as long as a session and its index, under one mapping. It is empty at the start.
 */
export class PageMemory {
  /** The seed of all fingerprints. A sync that is to take pages from here must use the same seed. */
  readonly seed: number;
  readonly #limits: { readonly bytes: number; readonly changes: number };
  #version = 0;
  #bytes = 0;
  readonly #pages = new Map<string | null, RememberedPage>();
  /** The low half of a key's fingerprint, and when the key changed. If two keys have the same half, this costs no more than parsing. */
  readonly #changedAt = new Map<number, number>();

  /** `seed`: any 32-bit integer, random. */
  constructor(seed: number, limits = { bytes: MOST_BYTES, changes: MOST_CHANGES }) {
    this.seed = seed;
    this.#limits = limits;
  }

  /** A full sync begins. Returns the version, for {@link endFull}. */
  beginFull(): number {
    this.#version += 1;
    return this.#version;
  }

  /**
   * A complete full sync has ended: drops the pages that it did not meet, because no page begins at their places any
   * more.
   */
  endFull(begunAt: number): void {
    let oldest = Infinity;
    for (const [cursor, { confirmedAt }] of this.#pages) {
      if (confirmedAt < begunAt) this.#drop(cursor);
      else oldest = Math.min(oldest, confirmedAt);
    }
    for (const [key, changedAt] of this.#changedAt) if (changedAt <= oldest) this.#changedAt.delete(key);
  }

  forget(): void {
    this.#pages.clear();
    this.#changedAt.clear();
    this.#bytes = 0;
  }

  /** The page that was requested with this cursor; null if none is remembered. */
  at(cursor: string | null): RememberedPage | null {
    return this.#pages.get(cursor) ?? null;
  }

  /** The page that was requested with this cursor, if the hub answers the same again. */
  recognise(cursor: string | null, text: Buffer): RememberedPage | null {
    const page = this.at(cursor);
    return page !== null && digestOf(text) === page.digest ? page : null;
  }

  /** Whether a page still equals the index. */
  isCurrent(page: RememberedPage): boolean {
    if (this.at(page.cursor) !== page) return false;
    return (
      this.#changedAt.size === 0 ||
      page.keys.everyLow((low) => (this.#changedAt.get(low) ?? 0) <= page.confirmedAt)
    );
  }

  /** Notes that a sync met a page that {@link isCurrent}. */
  confirm(page: RememberedPage): void {
    if (this.at(page.cursor) === page) page.confirmedAt = this.#version;
  }

  /** Remembers a page of which every row equals the index. Only for collections whose rows have their id as key. */
  remember({ ids, ...fingerprint }: PageFingerprint): void {
    const lastId = ids.at(-1);
    if (lastId === undefined) return;
    const { cursor } = fingerprint;
    this.#drop(cursor);
    const bytes = bytesOf(ids.length);
    if (this.#bytes + bytes > this.#limits.bytes) return;
    const keys = new Fingerprints(ids, this.seed);
    this.#pages.set(cursor, { ...fingerprint, rows: ids.length, lastId, keys, confirmedAt: this.#version });
    this.#bytes += bytes;
  }

  /** Notes that a change of this key was staged. */
  noteChanged(key: string): void {
    if (this.#pages.size === 0) return;
    this.#version += 1;
    this.#changedAt.set(Fingerprints.lowOf(key, this.seed), this.#version);
    if (this.#changedAt.size > this.#limits.changes) this.forget();
  }

  #drop(cursor: string | null): void {
    const page = this.at(cursor);
    if (page === null) return;
    this.#bytes -= bytesOf(page.rows);
    this.#pages.delete(cursor);
  }
}

function bytesOf(rows: number): number {
  return BYTES_OF_A_PAGE + rows * BYTES_OF_A_ROW;
}

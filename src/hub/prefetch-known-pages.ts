import type { PageMemory, RememberedPage } from '../core/pages/page-memory.ts';
import type { Sent } from './hub-answer.ts';
import type { Requests } from './requests.ts';

/** Bytes that scans share. */
export interface ByteBudget {
  left: number;
}

/** The answers that wait for their turn, in all scans of the process: many tenants may run their full syncs at the same time. */
export const WAITING_ANSWERS: ByteBudget = { left: 16_000_000 };

interface PrefetchOptions {
  readonly requests: Pick<Requests, 'inAdvance'>;
  readonly budget: ByteBudget;
  /** The most pages that are requested before their turn. */
  readonly pagesAtMost: number;
  /** The pages of the last full sync. */
  readonly pages: Pick<PageMemory, 'at'>;
  readonly request: Pick<Parameters<Requests['inAdvance']>[0], 'target' | 'where' | 'readVersion' | 'signal'>;
}

interface Waiting {
  readonly answer: Promise<Sent | null>;
  readonly bytes: number;
  readonly cancel: () => void;
}

/**
 * Requests pages of a full scan before their turn, at the cursors of the last full sync. It decides nothing: the scan
 * asks for one page after another, as without it, and gets a waiting answer only if it asks for exactly the address
 * of this answer.
 *
 * A scan never uses an answer that is older than the one before: if the scan has used an answer, all answers that
 * were requested before that one are dropped. The writer forgets what was published before the newest answer, and
 * would take an older row for a change.
 */
export class Prefetch {
  readonly #options: PrefetchOptions;
  /** By address, in the order of the scan. */
  readonly #waiting = new Map<string, Waiting>();
  /** Read version of the newest answer that the scan has used. */
  #newest = -Infinity;
  #isOver = false;

  constructor(options: PrefetchOptions) {
    this.#options = options;
  }

  /** Requests a remembered page and those that followed it, while the hub has places and memory is left. */
  pagesFrom(first: RememberedPage | null): void {
    const pages = this.#followed(first);
    const addresses = new Set(pages.map(({ address }) => address));
    for (const address of this.#waiting.keys()) if (!addresses.has(address)) this.#drop(address);
    for (const page of pages) {
      if (this.#isOver) return;
      if (!this.#waiting.has(page.address) && !this.#request(page)) return;
    }
  }

  /** The answer for an address, if it was requested. Resolves with null if the scan must ask for it in its turn. */
  take(url: URL): Promise<Sent | null> | null {
    const found = this.#waiting.get(url.href);
    if (found === undefined) return null;
    this.#waiting.delete(url.href);
    return found.answer.then((sent) => {
      this.#options.budget.left += found.bytes;
      return sent === null || sent.readVersion < this.#newest ? null : sent;
    });
  }

  /** The scan has used an answer with this read version. */
  noteUsed(readVersion: number): void {
    this.#newest = Math.max(this.#newest, readVersion);
  }

  /**
   * The read version for a request that is sent after the waiting ones, and whose answer is used before them: that of
   * the page before. A read version that is too old is safe, as if the hub had taken long to answer.
   */
  asOfPageBefore(readVersion: number): number {
    return Math.min(readVersion, this.#newest);
  }

  /** The scan has ended. */
  end(): void {
    this.#isOver = true;
    for (const address of this.#waiting.keys()) this.#drop(address);
  }

  /** A page, and those that followed it. */
  #followed(first: RememberedPage | null): RememberedPage[] {
    const { pages, pagesAtMost } = this.#options;
    const found: RememberedPage[] = [];
    let page = first;
    while (page !== null && found.length < pagesAtMost) {
      found.push(page);
      page = pages.at(page.lastId);
    }
    return found;
  }

  /** Returns false, and sends nothing, if all requests that the hub allows are in use, or no memory is left. */
  #request({ address, bytes }: RememberedPage): boolean {
    const { budget, request, requests } = this.#options;
    if (bytes > budget.left) return false;
    const abandoned = new AbortController();
    const signal = AbortSignal.any([request.signal, abandoned.signal]);
    const answer = requests.inAdvance({ ...request, url: () => new URL(address), signal });
    if (answer === null) return false;
    budget.left -= bytes;
    void this.#watch(answer, abandoned.signal);
    this.#waiting.set(address, { answer, bytes, cancel: () => abandoned.abort() });
    return true;
  }

  /** If the hub fails on one of these requests, it is asked for one page after another. */
  async #watch(answer: Promise<Sent | null>, cancelled: AbortSignal): Promise<void> {
    if ((await answer) === null && !cancelled.aborted) this.#isOver = true;
  }

  #drop(address: string): void {
    const dropped = this.#waiting.get(address);
    if (dropped === undefined) return;
    this.#waiting.delete(address);
    this.#options.budget.left += dropped.bytes;
    dropped.cancel();
  }
}

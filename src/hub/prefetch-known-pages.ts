import type { PageMemory, RememberedPage } from '../core/pages/page-memory.ts';
import type { Sent } from './hub-answer.ts';
import type { Requests } from './requests.ts';

/** Bytes that scans share. */
export interface ByteBudget {
  left: number;
}

/**
 * How many bytes of answers may wait for their turn, in all scans of the process together, because many tenants may run
 * their full syncs at the same time.
 */
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

export type Prefetch = ReturnType<typeof prefetchPages>;

/**
 * Requests pages of a full scan before their turn, at the cursors of the last full sync. It decides nothing: the scan
 * asks for one page after another, as without it, and gets a waiting answer only if it asks for exactly the address
 * of this answer.
 *
 * A scan never uses an answer that is older than the one before: if the scan has used an answer, all answers that
 * were requested before that one are dropped. The writer forgets what was published before the newest answer, and
 * would take an older row for a change.
 */
export function prefetchPages({ requests, budget, pagesAtMost, pages, request }: PrefetchOptions) {
  /** By address, in the order of the scan. */
  const waiting = new Map<string, Waiting>();
  /** Read version of the newest answer that the scan has used. */
  let newest = -Infinity;
  let isOver = false;

  /** Returns false, and sends nothing, if all requests that the hub allows are in use, or no memory is left. */
  function ask({ address, bytes }: RememberedPage): boolean {
    if (bytes > budget.left) return false;
    const abandoned = new AbortController();
    const signal = AbortSignal.any([request.signal, abandoned.signal]);
    const answer = requests.inAdvance({ ...request, url: () => new URL(address), signal });
    if (answer === null) return false;
    budget.left -= bytes;
    void watch(answer, abandoned.signal);
    waiting.set(address, { answer, bytes, cancel: () => abandoned.abort() });
    return true;
  }

  /** If the hub fails on one of these requests, it is asked for one page after another. */
  async function watch(answer: Promise<Sent | null>, cancelled: AbortSignal): Promise<void> {
    if ((await answer) === null && !cancelled.aborted) isOver = true;
  }

  function drop(address: string, { bytes, cancel }: Waiting): void {
    waiting.delete(address);
    budget.left += bytes;
    cancel();
  }

  return {
    /** Requests a remembered page and those that followed it, while the hub has places and memory is left. */
    pagesFrom(first: RememberedPage | null): void {
      const next = followed(first, { pages, pagesAtMost });
      const addresses = new Set(next.map(({ address }) => address));
      for (const [address, each] of waiting) if (!addresses.has(address)) drop(address, each);
      for (const page of next) {
        if (isOver) return;
        if (!waiting.has(page.address) && !ask(page)) return;
      }
    },

    /** The answer for an address, if it was requested. Resolves with null if the scan must ask for it in its turn. */
    take(url: URL): Promise<Sent | null> | null {
      const found = waiting.get(url.href);
      if (found === undefined) return null;
      waiting.delete(url.href);
      return found.answer.then((sent) => {
        budget.left += found.bytes;
        return sent === null || sent.readVersion < newest ? null : sent;
      });
    },

    /** The scan has used an answer with this read version. */
    noteUsed(readVersion: number): void {
      newest = Math.max(newest, readVersion);
    },

    /**
     * The read version for a request that is sent after the waiting ones, but whose answer is used before their
     * answers. It gets the read version of the page before. A read version that is too old is safe, as if the hub had
     * taken long to answer.
     */
    asOfPageBefore: (readVersion: number) => Math.min(readVersion, newest),

    /** The scan has ended. */
    end(): void {
      isOver = true;
      for (const [address, each] of waiting) drop(address, each);
    },
  };
}

/** A page, and those that followed it. */
function followed(
  first: RememberedPage | null,
  { pages, pagesAtMost }: Pick<PrefetchOptions, 'pages' | 'pagesAtMost'>,
): RememberedPage[] {
  const found: RememberedPage[] = [];
  for (let page = first; page !== null && found.length < pagesAtMost; page = pages.at(page.lastId))
    found.push(page);
  return found;
}

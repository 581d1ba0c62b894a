import { LARGE_BYTES, LargeAnswer } from './hub-error.ts';
import { Semaphore } from '../semaphore.ts';

/** The turn to have a large answer in memory: one in the process, whatever the number of hubs. */
const TURN = new Semaphore(1);
/**
 * The permit of a turn that lasts long, because its hub or its Kafka is slow: such a turn takes this permit and gives
 * {@link TURN} back, so that other scans get a turn.
 */
const LATE = new Semaphore(1);
const LONG_MS = 30_000;

export type LargeTurn = ReturnType<typeof largeTurn>;

/**
 * A scan's turn to have a large answer in memory. It lasts from the receipt of the answer until the reader is done with
 * it. In the whole process, one scan has a turn at a time. `ofHub` has the only permit of the hub, so a hub gets no
 * second turn while the reader of the first one takes long. `after`: resolves when other scans of the same reader,
 * which come first, are done.
 */
export function largeTurn(ofHub: Semaphore, signal: AbortSignal, after?: Promise<void>) {
  let end = (): void => undefined;
  /** Whether the next answer is probably large, because the last one was. */
  let isExpected = false;
  return {
    /**
     * `request` gets true if its answer may be large. If a large answer comes before its turn, it is cut off and
     * asked for again. So no request that waits for a turn takes a place at the hub that the scan with the turn may
     * need.
     */
    async take<T extends { readonly bytes: number }>(request: (mayBeLarge: boolean) => Promise<T>) {
      try {
        if (!isExpected) return await request(false);
      } catch (error) {
        if (!(error instanceof LargeAnswer)) throw error;
      }
      await after;
      const permit = await ofHub.acquire(signal);
      end = permit;
      isExpected = false;
      try {
        end = untilDone(await TURN.acquire(signal), permit);
        const answer = await request(true);
        isExpected = answer.bytes > LARGE_BYTES;
        return answer;
      } finally {
        if (!isExpected || signal.aborted) end();
      }
    },

    /** The reader is done with an answer. */
    doneWith({ bytes }: { readonly bytes: number }): void {
      if (bytes > LARGE_BYTES) end();
    },

    end: () => end(),
  };
}

/**
 * Returns the function that ends a turn and gives the permit of the hub back. If a turn lasts long, the next turn
 * begins before it ends, unless another long turn is still going on.
 */
function untilDone(turn: () => void, ofHub: () => void): () => void {
  let late: (() => void) | null = null;
  const timer = setTimeout(() => {
    late = LATE.tryAcquire();
    if (late !== null) turn();
  }, LONG_MS);
  return () => {
    clearTimeout(timer);
    for (const release of [late, turn, ofHub]) release?.();
  };
}

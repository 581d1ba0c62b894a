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

/**
 * A scan's turn to have a large answer in memory. It lasts from the receipt of the answer until the reader is done
 * with it. In the whole process, one scan has a turn at a time.
 */
export class LargeTurn {
  readonly #ofHub: Semaphore;
  readonly #signal: AbortSignal;
  readonly #after: Promise<void> | undefined;
  #end: (() => void) | null = null;
  /** Whether the next answer is probably large, because the last one was. */
  #isExpected = false;

  /**
   * `ofHub`: the only permit of the hub: a hub whose reader is late gets no second turn. `after`: resolves when other
   * scans of the same reader, which come first, are done.
   */
  constructor(ofHub: Semaphore, signal: AbortSignal, after?: Promise<void>) {
    this.#ofHub = ofHub;
    this.#signal = signal;
    this.#after = after;
  }

  /**
   * `request` gets true if its answer may be large. If a large answer comes before its turn, it is cut off and
   * asked for again. So no request that waits for a turn takes a place at the hub that the scan with the turn may
   * need.
   */
  async take<T extends { readonly bytes: number }>(request: (mayBeLarge: boolean) => Promise<T>): Promise<T> {
    try {
      if (!this.#isExpected) return await request(false);
    } catch (error) {
      if (!(error instanceof LargeAnswer)) throw error;
    }
    await this.#after;
    const ofHub = await this.#ofHub.acquire(this.#signal);
    this.#end = ofHub;
    this.#isExpected = false;
    try {
      this.#end = untilDone(await TURN.acquire(this.#signal), ofHub);
      const answer = await request(true);
      this.#isExpected = answer.bytes > LARGE_BYTES;
      return answer;
    } finally {
      if (!this.#isExpected || this.#signal.aborted) this.end();
    }
  }

  /** The reader is done with an answer. */
  doneWith({ bytes }: { readonly bytes: number }): void {
    if (bytes > LARGE_BYTES) this.end();
  }

  end(): void {
    this.#end?.();
  }
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

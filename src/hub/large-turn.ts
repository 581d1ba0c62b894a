import { LARGE_BYTES, LargeAnswer } from './hub-error.ts';
import { Semaphore } from '../semaphore.ts';

/** For all hubs together. */
const TURN = new Semaphore(1);
/** For the one turn that has lasted long, since its hub sends slowly or its Kafka is slow: it lets the others go on. */
const LATE = new Semaphore(1);
const LONG_MS = 30_000;

/** A scan's turn to have a large answer in memory: one at a time in the process, from its receipt until its reader is done with it. */
export class LargeTurn {
  readonly #ofHub: Semaphore;
  readonly #signal: AbortSignal;
  readonly #after: Promise<void> | undefined;
  #end: (() => void) | null = null;
  /** An answer that follows a large one is probably large. */
  #isExpected = false;

  /**
   * `ofHub`: the hub's only permit, so that one whose reader is late has no other turn. `after`: until then others of the same
   * reader come first.
   */
  constructor(ofHub: Semaphore, signal: AbortSignal, after?: Promise<void>) {
    this.#ofHub = ofHub;
    this.#signal = signal;
    this.#after = after;
  }

  /**
   * `request` gets whether its answer may be large. A large one that comes before its turn is cut off and asked for again,
   * so that no request waits in a place at the hub that the one who has the turn may need.
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

/** Returns what ends a turn, with the hub's permit. One that lasts long lets the others go on before, if no other one does. */
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

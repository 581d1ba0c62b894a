import { LARGE_BYTES, LargeAnswer } from './hub-error.ts';
import { Semaphore } from './semaphore.ts';

/** For all hubs together. */
const TURN = new Semaphore(1);

/** A scan's turn to have a large answer in memory: one at a time in the process, from its receipt until its reader is done with it. */
export class LargeTurn {
  readonly #signal: AbortSignal;
  readonly #after: Promise<void> | undefined;
  #end: (() => void) | null = null;
  /** An answer that follows a large one is probably large. */
  #isExpected = false;

  /** `after`: until then others of the same reader come first. */
  constructor(signal: AbortSignal, after?: Promise<void>) {
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
    const end = await TURN.acquire(this.#signal);
    this.#isExpected = false;
    try {
      const answer = await request(true);
      this.#isExpected = answer.bytes > LARGE_BYTES;
      return answer;
    } finally {
      if (this.#isExpected && !this.#signal.aborted) this.#end = end;
      else end();
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

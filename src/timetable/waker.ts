/** Lets a loop sleep until a time has passed or something wakes it, whichever is first. */
export class Waker {
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  #isWoken = false;
  #wakeUp: () => void = () => undefined;

  /** `sleep` rejects when the signal aborts. */
  constructor(sleep: (ms: number, signal: AbortSignal) => Promise<void>) {
    this.#sleep = sleep;
  }

  /** Ends the present rest, or else the next one. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeUp();
  }

  async rest(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && ms > 0) {
      const woken = new AbortController();
      this.#wakeUp = () => woken.abort();
      await this.#sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
    }
    this.#isWoken = false;
  }
}

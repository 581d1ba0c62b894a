/** Grants a fixed number of permits at a time, first come first served; such as for the requests to one hub. */
export class Semaphore {
  #free: number;
  readonly #within: Semaphore | null;
  readonly #waiting: (() => void)[] = [];

  /** `within`: each permit also takes one of a wider semaphore, after its own, so that no waiter here has a permit there. */
  constructor(permits: number, within: Semaphore | null = null) {
    this.#free = permits;
    this.#within = within;
  }

  /** Resolves with a function that returns the permit (further calls do nothing). Rejects with the signal's reason. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const permit = this.tryAcquire() ?? (await this.#turn(signal));
    if (this.#within === null) return permit;
    try {
      const wider = await this.#within.acquire(signal);
      return () => {
        wider();
        permit();
      };
    } catch (error) {
      permit();
      throw error;
    }
  }

  /** A permit of this semaphore alone, at once; null if none is free. */
  tryAcquire(): (() => void) | null {
    // A permit is free only if nobody waits: a released one goes to the first who does.
    if (this.#free === 0) return null;
    this.#free -= 1;
    return this.#permit();
  }

  #permit(): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#release();
    };
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  #turn(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(this.#permit());
      };
      const leave = (): void => {
        const place = this.#waiting.indexOf(enter);
        if (place !== -1) this.#waiting.splice(place, 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}

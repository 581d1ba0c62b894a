/** Bounds concurrent work, such as the requests to one hub (`hub.maxConcurrentRequests`). */
export interface Permits {
  /** Resolves with a function that returns the permit (further calls do nothing). Rejects with the signal's reason. */
  acquire(signal: AbortSignal): Promise<() => void>;
  /** Returns the same function at once; null if no permit is free. Left out where nobody asks so. */
  tryAcquire?(): (() => void) | null;
}

/** Acquires a permit of each, the narrower one first, so that no waiter for the narrower one has a wider permit. */
export function permitsOfBoth(narrower: Permits, wider: Permits): Permits {
  return {
    async acquire(signal) {
      const releaseNarrower = await narrower.acquire(signal);
      try {
        const releaseWider = await wider.acquire(signal);
        return () => {
          releaseWider();
          releaseNarrower();
        };
      } catch (error) {
        releaseNarrower();
        throw error;
      }
    },
  };
}

/** Grants a fixed number of permits at a time, first come first served. */
export class Semaphore implements Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const free = this.tryAcquire();
    if (free !== null) return free;
    await this.#turn(signal);
    return this.#permit();
  }

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

  async #turn(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
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

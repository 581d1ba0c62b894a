/** Grants a fixed number of permits at a time, first come first served; such as for the requests to one hub. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Resolves with a function that returns the permit (further calls do nothing). Rejects with the signal's reason. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    return this.tryAcquire() ?? this.#turn(signal);
  }

  /** A permit at once; null if none is free. */
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

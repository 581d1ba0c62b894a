/** Lets in who may be under way. */
export interface Permits {
  /** Resolves with what gives the permit back (once; more calls do nothing). Rejects with the signal's reason. */
  acquire(signal: AbortSignal): Promise<() => void>;
}

/** Needs a permit of each; the narrower one comes first, so that nobody waits for it with the wider one in hand. */
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

/** Lets at most a number of holders in at a time, first come first served. */
export class Semaphore implements Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
    } else {
      await this.#turn(signal);
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
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

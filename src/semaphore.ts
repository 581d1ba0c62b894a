/**
 * Grants a fixed number of permits at a time. Who waits for one comes first come first served among those of one asker, and askers
 * take turns; such as for the requests to one hub, or for those of all tenants to one host.
 */
export class Semaphore {
  #free: number;
  readonly #within: readonly Semaphore[];
  /** By asker, who comes next first. No queue is empty. */
  readonly #waiting = new Map<unknown, (() => void)[]>();

  /** `within`: each permit also takes one of these, after its own and in this order, so that no waiter here has one of theirs. */
  constructor(permits: number, ...within: readonly Semaphore[]) {
    this.#free = permits;
    this.#within = within;
  }

  /**
   * Resolves with a function that returns the permit (further calls do nothing). Rejects with the signal's reason. `asker`: with
   * whom the others take turns; a wider semaphore knows the narrower one.
   */
  async acquire(signal: AbortSignal, asker: unknown = null): Promise<() => void> {
    signal.throwIfAborted();
    const held = [this.#take() ?? (await this.#turn(signal, asker))];
    try {
      for (const wider of this.#within) held.push(await wider.acquire(signal, this));
    } catch (error) {
      returnAll(held);
      throw error;
    }
    return () => returnAll(held);
  }

  /** A permit at once; null if none is free, here or in a wider semaphore. */
  tryAcquire(): (() => void) | null {
    const own = this.#take();
    if (own === null) return null;
    const held = [own];
    for (const wider of this.#within) {
      const permit = wider.tryAcquire();
      if (permit === null) {
        returnAll(held);
        return null;
      }
      held.push(permit);
    }
    return () => returnAll(held);
  }

  #take(): (() => void) | null {
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
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [asker, queue] = first;
    const enter = queue.shift();
    this.#waiting.delete(asker);
    if (queue.length > 0) this.#waiting.set(asker, queue);
    enter?.();
  }

  #turn(signal: AbortSignal, asker: unknown): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(this.#permit());
      };
      const leave = (): void => {
        const queue = this.#waiting.get(asker)?.filter((each) => each !== enter) ?? [];
        if (queue.length > 0) this.#waiting.set(asker, queue);
        else this.#waiting.delete(asker);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      const queue = this.#waiting.get(asker);
      if (queue === undefined) this.#waiting.set(asker, [enter]);
      else queue.push(enter);
    });
  }
}

/** The widest first: who waits here has no permit there. */
function returnAll(permits: readonly (() => void)[]): void {
  for (const permit of permits.toReversed()) permit();
}

/** Work that begins in turn, so much of it at once. What has gone on for long without progress no longer counts. */
export class Turns {
  readonly #permits: Semaphore;
  readonly #longMs: number;

  constructor(permits: Semaphore, longMs: number) {
    this.#permits = permits;
    this.#longMs = longMs;
  }

  /**
   * Rejects with the error of `work`, or with the signal's reason when it aborts before the turn. `work` gets what it calls when it
   * makes progress. `asker`: see {@link Semaphore.acquire}.
   */
  async run<T>(
    work: (onProgress: () => void) => Promise<T>,
    { signal, asker }: { signal: AbortSignal; asker?: unknown },
  ): Promise<T> {
    const release = await this.#permits.acquire(signal, asker);
    const isLong = setTimeout(release, this.#longMs);
    try {
      return await work(() => isLong.refresh());
    } finally {
      clearTimeout(isLong);
      release();
    }
  }
}

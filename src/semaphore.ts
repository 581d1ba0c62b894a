/**
 * Grants a fixed number of permits at a time, for example for the requests to one hub, or for the requests of all
 * tenants to one host. Askers take turns. The requests of one asker are served in the order in which they come.
 */
export class Semaphore {
  #free: number;
  readonly #within: readonly Semaphore[];
  /** The queue of each asker. The first one is served next. No queue is empty. */
  readonly #waiting = new Map<unknown, (() => void)[]>();

  /**
   * `within`: wider semaphores. A permit of this one also takes a permit of each of them, afterwards and in this order.
   * So an asker that waits here holds none of theirs.
   */
  constructor(permits: number, ...within: readonly Semaphore[]) {
    this.#free = permits;
    this.#within = within;
  }

  /**
   * Resolves with a function that returns the permit (further calls do nothing). Rejects with the signal's reason.
   * `asker`: takes turns with the other askers; for a wider semaphore the asker is this semaphore.
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
    // A permit is free only if nobody waits: a released permit goes to the first who waits.
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

/** Returns the permit of the widest semaphore first, because an asker that waits for a narrower one holds no permit of a wider one. */
function returnAll(permits: readonly (() => void)[]): void {
  for (const permit of permits.toReversed()) permit();
}

/** Never aborts. */
const NEVER = new AbortController().signal;

/**
 * Runs a limited number of tasks at once, which begin in turn. A task that makes no progress for a long time no longer
 * counts.
 */
export class Turns {
  readonly #permits: Semaphore;
  readonly #longMs: number;

  constructor(permits: Semaphore, longMs: number) {
    this.#permits = permits;
    this.#longMs = longMs;
  }

  /**
   * Rejects with the error of `work`, or with the signal's reason when it aborts before the turn. `work` gets a
   * function to call when it makes progress. `asker`: see {@link Semaphore.acquire}.
   */
  async run<T>(
    work: (onProgress: () => void) => Promise<T>,
    { signal = NEVER, asker }: { signal?: AbortSignal; asker?: unknown } = {},
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

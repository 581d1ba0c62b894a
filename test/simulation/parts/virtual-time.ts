interface Sleeper {
  atMs: number;
  readonly wake: () => void;
}

/** More than any history takes: beyond this number something loops. */
const STEPS_AT_MOST = 500_000;

/**
 * A clock that moves only when all code waits for it, so that the same seed always gives the same history, and hours take
 * no longer than the work done in them. Code that waits for anything but this clock, promises or `setImmediate` would
 * come too late.
 */
export class VirtualTime {
  /** Waiting code by time; for the same time, in the order in which the waits began. */
  readonly #sleepers: Sleeper[] = [];
  #nowMs: number;

  /** `startMs`: ms since the epoch. */
  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  /** ms since the epoch, whole. */
  readonly now = (): number => this.#nowMs;

  /** Rejects when the signal aborts. */
  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(reasonOf(signal));
        return;
      }
      const onAbort = (): void => {
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
        reject(reasonOf(signal));
      };
      const sleeper: Sleeper = {
        atMs: this.#nowMs + Math.max(0, Math.ceil(ms)),
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const after = this.#sleepers.findIndex(({ atMs }) => atMs > sleeper.atMs);
      this.#sleepers.splice(after === -1 ? this.#sleepers.length : after, 0, sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });

  /** Waits for a condition, but no longer than the given time. */
  async until(withinMs: number, isSo: () => boolean): Promise<void> {
    const untilMs = this.#nowMs + withinMs;
    while (!isSo() && this.#nowMs < untilMs) await this.sleep(5);
  }

  /** The number of waits for the clock. */
  get waiting(): number {
    return this.#sleepers.length;
  }

  /** Lets time leap; every wait still takes as long as before. */
  skip(ms: number): void {
    this.#nowMs += ms;
    for (const sleeper of this.#sleepers) sleeper.atMs += ms;
  }

  /** Lets time pass until the work is done. Throws when no wait can end, or when there are too many. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let isDone = false;
    const result = work().finally(() => {
      isDone = true;
    });
    result.catch(() => undefined);
    for (let steps = 0; ; steps += 1) {
      // This happens twice because the code under test itself waits for a turn of the event loop.
      await turn();
      await turn();
      if (isDone) return result;
      const next = this.#sleepers.shift();
      if (next === undefined) throw new Error('the work is not done, but nothing waits for the clock');
      if (steps > STEPS_AT_MOST) throw new Error('the history does not end');
      this.#nowMs = next.atMs;
      next.wake();
    }
  }
}

/** One turn of the event loop; cheaper than the one of `node:timers/promises`. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('aborted');
}

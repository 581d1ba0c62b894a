interface Sleeper {
  atMs: number;
  readonly wake: () => void;
}

/** More than any history takes: beyond this number something loops. */
const STEPS_AT_MOST = 500_000;

/**
 * A clock that moves only when all code waits for it, so that the same seed always gives the same history, and hours take
 * no longer than the work done in them. Code that waits for anything but this clock and promises would come too late.
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
  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    const atMs = this.#nowMs + Math.max(0, Math.ceil(ms));
    if (signal === undefined) return new Promise((resolve) => this.#add({ atMs, wake: resolve }));
    if (signal.aborted) return Promise.reject(reasonOf(signal));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
        reject(reasonOf(signal));
      };
      const wake = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { atMs, wake };
      this.#add(sleeper);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  };

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
    const idle = Promise.withResolvers<never>();
    let isDone = false;
    let steps = 0;
    const step = (): void => {
      if (isDone) return;
      const [next] = this.#sleepers;
      steps += 1;
      if (next === undefined) idle.reject(new Error('the work is not done, but nothing waits for the clock'));
      else if (steps > STEPS_AT_MOST) idle.reject(new Error('the history does not end'));
      else {
        this.#nowMs = next.atMs;
        while (this.#sleepers[0]?.atMs === this.#nowMs) this.#sleepers.shift()?.wake();
        onceSettled(step);
      }
    };
    onceSettled(step);
    try {
      return await Promise.race([work(), idle.promise]);
    } finally {
      isDone = true;
    }
  }

  #add(sleeper: Sleeper): void {
    let at = this.#sleepers.length;
    while (at > 0 && (this.#sleepers[at - 1]?.atMs ?? 0) > sleeper.atMs) at -= 1;
    this.#sleepers.splice(at, 0, sleeper);
  }
}

/** Calls back when all promises have been handed on: a tick that is queued by a microtask waits for all of them. */
function onceSettled(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback));
}

function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error('aborted');
}

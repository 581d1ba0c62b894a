import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

/** The clock, the random numbers and the timers of the process. Tests replace them. */
export interface Runtime {
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  readonly random: () => number;
  readonly randomId: () => string;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Resolves after a turn of the event loop, which hands on what has arrived. */
  readonly turn: () => Promise<void>;
}

/** Sleeps, and rejects when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return delay(Math.max(0, ms), undefined, { signal });
}

/** Resolves after a turn of the event loop. */
export function turn(): Promise<void> {
  return nextTurn();
}

import { setTimeout as delay } from 'node:timers/promises';

/** Sleeps, and rejects when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return delay(Math.max(0, ms), undefined, { signal });
}

import type { SyncMode } from '../model/progress.ts';
import { jitteredPauseMs } from '../retry-policy.ts';

const LONGEST_RETRY_MS = 300_000;
/** As long as a refused client waits before it asks for a token again (hub/token.ts). */
const LONGEST_ASKED_MS = 600_000;
const SHORTEST_RETRY_MS = 1_000;

export interface RetryParts {
  readonly deltaEveryMs: number;
  readonly now: () => number;
  /** 0 to 1 */
  readonly random: () => number;
}

/** When a sync that failed or proved nothing may run again. By mode: a failed full sync says little about incremental ones. */
export class SyncRetries {
  readonly #parts: RetryParts;
  /** In a row. */
  readonly #failures: Record<SyncMode, number> = { FULL: 0, INCREMENTAL: 0 };
  readonly #notBeforeMs: Record<SyncMode, number> = { FULL: 0, INCREMENTAL: 0 };
  #notedAtMs = 0;

  constructor(parts: RetryParts) {
    this.#parts = parts;
  }

  /** The mode's syncs work. */
  clear(mode: SyncMode): void {
    this.#failures[mode] = 0;
    this.#notBeforeMs[mode] = 0;
  }

  /**
   * Notes one more failure in a row; returns for how many ms such a sync is not tried again. `askedMs`: how long the
   * hub, its token endpoint or an open circuit lets nothing through: a sync before that would only fail again.
   */
  postpone(mode: SyncMode, askedMs = 0): number {
    const { deltaEveryMs, now, random } = this.#parts;
    this.#failures[mode] += 1;
    const firstMs = Math.max(SHORTEST_RETRY_MS, Math.min(deltaEveryMs, 15_000));
    const backoff = { firstMs, longestMs: LONGEST_RETRY_MS };
    const ownMs = jitteredPauseMs(backoff, this.#failures[mode], random);
    const retryInMs = Math.max(SHORTEST_RETRY_MS, ownMs, Math.min(askedMs, LONGEST_ASKED_MS));
    this.postponeUntil(mode, now() + retryInMs);
    return retryInMs;
  }

  postponeUntil(mode: SyncMode, atMs: number): void {
    this.#notedAtMs = this.#parts.now();
    this.#notBeforeMs[mode] = atMs;
  }

  /** A time that was noted by a clock that has been set back since does not count. */
  notBefore(mode: SyncMode, nowMs: number): number {
    return nowMs < this.#notedAtMs ? 0 : this.#notBeforeMs[mode];
  }
}

/** Pauses between attempts: the pause doubles with each failure in a row. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Returns the pause in ms after a number of failures in a row, at least one. */
export function pauseMs({ firstMs, longestMs }: Backoff, failures: number): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1));
}

/**
 * Returns the pause, shortened at random by up to half, so that processes that failed together do not retry together.
 * `random`: 0 to 1.
 */
export function jitteredPauseMs(backoff: Backoff, failures: number, random: () => number): number {
  return Math.round(pauseMs(backoff, failures) * (0.5 + random() / 2));
}

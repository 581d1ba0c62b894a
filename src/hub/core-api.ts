/** All lessons that the hub has of a student in some days. */
export interface ScheduleAnswer {
  /** Parsed; numbers that a double cannot hold are raw JSON (see core/lossless-json). */
  readonly lessons: readonly unknown[];
  /** False where bytes that are no UTF-8 were replaced by U+FFFD. */
  readonly isUtf8: boolean;
  /** The hub's clock for the first page, ms since the epoch; null when it sent none that can be read. */
  readonly hubTimeMs: number | null;
}

/**
 * The hub's Core API (spec 4.4). It has a circuit breaker of its own and at most half of the hub's concurrency, so that
 * it cannot keep the other APIs from being read.
 */
export interface CoreApi {
  /** How many requests to it run at the same time. */
  readonly concurrency: number;
  /**
   * Reads a student's lessons, all pages of them: never a part. Errors are `RollcallError`s with a `HUB_…` code, also for
   * a body without a list, and for pages without end.
   */
  readSchedule(options: {
    readonly student: string;
    /** `YYYY-MM-DD`, both included. */
    readonly from: string;
    readonly to: string;
    readonly signal: AbortSignal;
  }): Promise<ScheduleAnswer>;
}

/** All lessons of a student in a range of days. */
export interface ScheduleAnswer {
  /** Parsed; numbers that a double cannot represent are raw JSON (see core/lossless-json). */
  readonly lessons: readonly unknown[];
  /** False if U+FFFD replaced bytes that are not UTF-8. */
  readonly isUtf8: boolean;
  /** The hub's clock for the first page, ms since the epoch; null without a readable `Date` header. */
  readonly hubTimeMs: number | null;
}

/**
 * The hub's Core API (spec 4.4). It has its own circuit breaker and at most half of the hub's concurrency, so that it
 * cannot block the other APIs.
 */
export interface CoreApi {
  /** How many requests to the Core API run at the same time. */
  readonly concurrency: number;
  /**
   * Reads all pages of a student's lessons, or throws. Errors are `RollcallError`s with a `HUB_…` code; a body without
   * a list of lessons and a listing without end are errors too.
   */
  readSchedule(options: {
    readonly student: string;
    /** `YYYY-MM-DD`; `from` and `to` are inclusive. */
    readonly from: string;
    readonly to: string;
    readonly signal: AbortSignal;
  }): Promise<ScheduleAnswer>;
}

/** Whether everything runs, at length: `ROLLCALL_TESTS=all`. */
export const IS_FULL = process.env['ROLLCALL_TESTS'] === 'all';

/** Each fault happens once, and three times in the long form, each time differently. */
export const ROUNDS: readonly number[] = IS_FULL ? [1, 2, 3] : [1];

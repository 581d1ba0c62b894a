/** Whether the long form runs: `npm run test:faults`. */
export const IS_FULL = process.env['ROLLCALL_FAULTS'] === 'full';

/** Each fault happens once in `npm test`, and three times in the long form, each time differently. */
export const ROUNDS: readonly number[] = IS_FULL ? [1, 2, 3] : [1];

/** Whether everything is tried at length: `npm run test:faults`. */
export const IS_FULL = process.env['ROLLCALL_FAULTS'] === 'full';

/** Each fault strikes once in `npm test`, and three times, each time otherwise, at length. */
export const ROUNDS: readonly number[] = IS_FULL ? [1, 2, 3] : [1];

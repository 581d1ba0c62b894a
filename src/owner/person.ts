import { z } from 'zod';

/** Longest reason that is kept, in characters. */
export const LONGEST_REASON = 500;

/** Who gives a command that `deletes history` shows (`Person` in model/progress.ts). */
export const person = z.strictObject({
  by: z.string(),
  from: z.string(),
  reason: z.string().max(LONGEST_REASON).nullable(),
});

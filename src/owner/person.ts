import { z } from 'zod';

/** Who gives a command that `deletes history` shows (`Person` in model/progress.ts). */
export const person = z.strictObject({ by: z.string(), from: z.string(), reason: z.string().nullable() });

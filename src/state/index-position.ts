import { z } from 'zod';
import type { IndexPosition } from './index-store.ts';

const POSITION = z.object({
  sequence: z.number(),
  transactionId: z.string().min(1),
  committedAtMs: z.number(),
  offsets: z.record(z.string(), z.number()),
  firstOffsets: z.record(z.string(), z.number()).optional(),
});

export function positionToJson(position: IndexPosition): string {
  return JSON.stringify({
    sequence: position.sequence,
    transactionId: position.transactionId,
    committedAtMs: position.committedAtMs,
    offsets: position.offsets,
    firstOffsets: position.firstOffsets,
  });
}

/** Returns null for text that cannot be read, such as another version's: Rollcall then rebuilds the index. */
export function positionFromJson(text: string): IndexPosition | null {
  try {
    return POSITION.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

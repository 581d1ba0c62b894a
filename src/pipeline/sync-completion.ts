import type { LastCompleteFull } from '../model/progress.ts';
import type { SyncEnd } from './chains/absence-emitter.ts';

/** The result of an ended sync. */
export interface SyncCompletion {
  readonly watermarkMs: number;
  /** The sync has proven that it read every row: the others are missing. */
  readonly isProven?: boolean | undefined;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'offsets'> | null;
}

export function syncEndOf(completion: SyncCompletion | 'incomplete' | null): SyncEnd | null {
  if (completion === null) return null;
  if (completion === 'incomplete') return { isComplete: false, isProven: false };
  return { isComplete: completion.lastCompleteFull !== null, isProven: completion.isProven === true };
}

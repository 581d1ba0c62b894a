import type { LastCompleteFull } from '../model/progress.ts';
import type { SyncEnd } from './chains/absence-emitter.ts';

/** What a pass that has come to its end has found out. */
export interface SyncCompletion {
  readonly watermarkMs: number;
  /** The pass has proven that it met every row: what it did not meet is gone. */
  readonly isProven?: boolean | undefined;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'offsets'> | null;
}

export function syncEndOf(completion: SyncCompletion | 'incomplete' | null): SyncEnd | null {
  if (completion === null) return null;
  if (completion === 'incomplete') return { isComplete: false, isProven: false };
  return { isComplete: completion.lastCompleteFull !== null, isProven: completion.isProven === true };
}

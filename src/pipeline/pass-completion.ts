import type { LastCompleteFull } from '../model/progress.ts';
import type { PassEnd } from './chains/chain-teller.ts';

/** What a pass that has come to its end has found out. */
export interface PassCompletion {
  readonly watermarkMs: number;
  /** The pass has proven that it met every row: what it did not meet is gone. */
  readonly isProven?: boolean | undefined;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'offsets'> | null;
}

export function passEndOf(completion: PassCompletion | 'incomplete' | null): PassEnd | null {
  if (completion === null) return null;
  if (completion === 'incomplete') return { isWhole: false, isProven: false };
  return { isWhole: completion.lastCompleteFull !== null, isProven: completion.isProven === true };
}

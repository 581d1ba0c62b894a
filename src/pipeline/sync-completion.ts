import type { LastCompleteFull } from '../model/progress.ts';

/** The result of an ended sync. */
export interface SyncCompletion {
  readonly watermarkMs: number;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'offsets'> | null;
}

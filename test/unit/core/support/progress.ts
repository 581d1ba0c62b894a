import type { Progress } from '../../../../src/model/progress.ts';

/** The progress of `users` after a full sync of an empty hub. */
export function madeProgress(given: Partial<Progress> = {}): Progress {
  const rows = { rowsSeen: 0, rowsPublished: 0, rowsRejected: 0, rowsRemoved: 0, rowsOnHold: 0 };
  const sync = { syncId: 'p', mode: 'FULL', complete: true, startedAtMs: 0, watermarkMs: null } as const;
  const last = { offsets: {}, lifeId: null, lastCompleteFull: null, totalAtStart: null, totalAtEnd: null };
  return { collection: 'users', sequence: 1, transactionId: 't', ...sync, ...rows, ...last, ...given };
}

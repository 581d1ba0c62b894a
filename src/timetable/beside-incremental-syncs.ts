import { isOfOneCollection } from '../errors.ts';
import type { SyncAttempt } from './sync-attempt.ts';
import type { SyncParts } from '../sync/sync-parts.ts';
import type { SyncTimetable } from './sync-timetable.ts';

export interface BesideParts {
  readonly sync: Pick<SyncParts, 'writer'>;
  readonly deltaEveryMs: number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timetable: SyncTimetable;
  readonly attempt: SyncAttempt;
}

/** Does long work while incremental syncs continue to publish changes. */
export async function besideIncrementalSyncs<T>(
  parts: BesideParts,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const broken = new AbortController();
  const both = AbortSignal.any([signal, broken.signal]);
  const deltas = runUntil(parts, done.signal, both).catch((error: unknown) => broken.abort(error));
  try {
    return await work(both);
  } catch (error) {
    // An error that concerns the tenant ends the running incremental sync as well.
    if (!isOfOneCollection(error)) broken.abort(error);
    throw error;
  } finally {
    done.abort();
    await deltas;
  }
}

async function runUntil(parts: BesideParts, done: AbortSignal, signal: AbortSignal): Promise<void> {
  const { deltaEveryMs, sync, sleep, timetable, attempt } = parts;
  const isOver = AbortSignal.any([done, signal]);
  for (;;) {
    await sleep(deltaEveryMs, isOver).catch(() => undefined);
    if (isOver.aborted) return;
    if (!timetable.hasIncremental || !timetable.mayBringChanges || sync.writer.progress?.watermarkMs == null)
      continue;
    try {
      // Such as a nightly re-stamp: the running full sync brings all these rows.
      if ((await attempt.run('DELTA', { signal })).kind === 'becomes-full') return;
    } catch (error) {
      if (!isOfOneCollection(error)) throw error;
    }
  }
}

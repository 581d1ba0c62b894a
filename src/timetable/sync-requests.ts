import type { SyncMode } from '../model/progress.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-result.ts';

/** A requested sync that has not run yet. */
export interface SyncRequest {
  readonly mode: SyncMode;
  readonly options: SyncOptions;
  readonly done: PromiseWithResolvers<SyncResult>;
}

export type SyncRequests = ReturnType<typeof syncRequests>;

/**
 * The requested syncs of one collection that wait for their turn. A new request ends the pause of the loop. `sleep`
 * rejects when the signal aborts.
 */
export function syncRequests(sleep: (ms: number, signal: AbortSignal) => Promise<void>) {
  const waiting: SyncRequest[] = [];
  let wakeUp: () => void = () => undefined;
  let ended: { readonly error: Error } | null = null;

  /**
   * A signal that aborts as soon as a request waits. The next call of this function replaces the signal: the earlier one
   * never aborts then.
   */
  function arrival(): AbortSignal {
    const arrived = new AbortController();
    wakeUp = () => arrived.abort(new Error('a request comes first'));
    if (waiting.length > 0) wakeUp();
    return arrived.signal;
  }

  return {
    /** Resolves with the result of the sync. Rejects with the error of the sync, or of the session. */
    async add(mode: SyncMode, options: SyncOptions): Promise<SyncResult> {
      if (ended !== null) throw ended.error;
      const done = Promise.withResolvers<SyncResult>();
      waiting.push({ mode, options, done });
      wakeUp();
      return done.promise;
    },
    takeFirst: () => waiting.shift(),
    /** Sleeps until the time has passed or a request waits, whichever is first. */
    async rest(ms: number, signal: AbortSignal): Promise<void> {
      if (waiting.length > 0 || ms <= 0) return;
      await sleep(ms, AbortSignal.any([signal, arrival()])).catch(() => undefined);
    },
    arrival,
    /** The runner has ended: rejects waiting and later requests. */
    end(error: Error): void {
      ended = { error };
      for (const { done } of waiting.splice(0)) done.reject(error);
    },
  };
}

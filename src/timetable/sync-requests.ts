import type { SyncMode } from '../model/progress.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-result.ts';

export interface SyncRequest {
  readonly mode: SyncMode;
  readonly options: SyncOptions;
  readonly done: PromiseWithResolvers<SyncResult>;
}

/** The requests for syncs of one collection that wait for their turn, and the rest of the loop that they end. */
export class SyncRequests {
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #waiting: SyncRequest[] = [];
  #wakeUp: () => void = () => undefined;
  #ended: { readonly error: unknown } | null = null;

  /** `sleep` rejects when the signal aborts. */
  constructor(sleep: (ms: number, signal: AbortSignal) => Promise<void>) {
    this.#sleep = sleep;
  }

  /** Resolves with the result of the sync. Rejects with the error of the sync, or of the session. */
  add(mode: SyncMode, options: SyncOptions): Promise<SyncResult> {
    if (this.#ended !== null) return Promise.reject(asError(this.#ended.error));
    const done = Promise.withResolvers<SyncResult>();
    this.#waiting.push({ mode, options, done });
    this.#wakeUp();
    return done.promise;
  }

  takeFirst(): SyncRequest | undefined {
    return this.#waiting.shift();
  }

  /** Sleeps until the time has passed or a request waits, whichever is first. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting.length > 0 || ms <= 0) return;
    const woken = new AbortController();
    this.#wakeUp = () => woken.abort();
    await this.#sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
  }

  /** The runner has ended: rejects waiting and later requests. */
  end(error: unknown): void {
    this.#ended = { error };
    for (const { done } of this.#waiting.splice(0)) done.reject(asError(error));
  }
}

/** The abort of a session's signal may have no reason. */
function asError(reason: unknown): Error {
  return reason instanceof Error
    ? reason
    : new Error("the tenant's session ended before the request was done");
}

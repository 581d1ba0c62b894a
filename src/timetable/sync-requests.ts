import type { SyncMode } from '../model/progress.ts';
import { asError } from './session-error.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import type { SyncOptions } from '../sync/sync-result.ts';
import type { Waker } from './waker.ts';

export interface SyncRequest {
  readonly mode: SyncMode;
  readonly options: SyncOptions;
  readonly done: PromiseWithResolvers<SyncResult>;
}

/** The requests for syncs of one collection that wait for their turn. */
export class SyncRequests {
  readonly #waker: Waker;
  readonly #waiting: SyncRequest[] = [];
  #ended: { readonly error: unknown } | null = null;

  /** `waker`: is woken by each request. */
  constructor(waker: Waker) {
    this.#waker = waker;
  }

  /** Resolves with the result of the sync. Rejects with the error of the sync, or of the session. */
  add(mode: SyncMode, options: SyncOptions): Promise<SyncResult> {
    if (this.#ended !== null) return Promise.reject(asError(this.#ended.error));
    const done = Promise.withResolvers<SyncResult>();
    this.#waiting.push({ mode, options, done });
    this.#waker.wake();
    return done.promise;
  }

  takeFirst(): SyncRequest | undefined {
    return this.#waiting.shift();
  }

  takeAll(): SyncRequest[] {
    return this.#waiting.splice(0);
  }

  /** Puts back requests whose turn has not come. */
  keep(requests: readonly SyncRequest[]): void {
    this.#waiting.push(...requests);
  }

  /** The runner has ended: rejects waiting and later requests. */
  end(error: unknown): void {
    this.#ended = { error };
    for (const { done } of this.takeAll()) done.reject(asError(error));
  }
}

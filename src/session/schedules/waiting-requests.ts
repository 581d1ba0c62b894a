import type { SyncMode } from '../../model/progress.ts';
import { asError } from '../../timetable/session-error.ts';
import { SyncRequests, type SyncRequest } from '../../timetable/sync-requests.ts';
import type { SyncResult } from '../../sync/sync-result.ts';
import type { SyncOptions } from '../../sync/sync-result.ts';
import type { Waker } from '../../timetable/waker.ts';

export interface TakenRequests {
  /** An approval or a confirmation: a round of some students. */
  readonly part: SyncRequest | null;
  readonly syncs: readonly SyncRequest[];
}

/** Requests to schedules that are not done: syncs to begin, and waits for the end of the round. */
export class WaitingRequests {
  readonly #requests: SyncRequests;
  readonly #endOfRound: PromiseWithResolvers<SyncResult>[] = [];

  constructor(waker: Waker) {
    this.#requests = new SyncRequests(waker);
  }

  add(mode: SyncMode, options: SyncOptions): Promise<SyncResult> {
    return this.#requests.add(mode, options);
  }

  /** Takes the requests that can be handled now. A round of some students waits while another request has a round. */
  take(): TakenRequests {
    const all = this.#requests.takeAll();
    const isPart = ({ options }: SyncRequest): boolean =>
      options.approved !== undefined || options.confirming === true;
    const parts = all.filter(isPart);
    const syncs = all.filter((request) => !isPart(request));
    const isFree = this.#endOfRound.length === 0 && syncs.length === 0;
    const part = isFree ? (parts.shift() ?? null) : null;
    this.#requests.keep(parts);
    return { part, syncs };
  }

  takeAll(): readonly SyncRequest[] {
    return this.#requests.takeAll();
  }

  awaitEndOfRound(requests: Iterable<PromiseWithResolvers<SyncResult>>): void {
    this.#endOfRound.push(...requests);
  }

  endRound(result: SyncResult): void {
    for (const done of this.#endOfRound.splice(0)) done.resolve(result);
  }

  /** The hub is away: rejects the waits for the end of the round, because it may take long. */
  giveUp(error: unknown): void {
    for (const done of this.#endOfRound.splice(0)) done.reject(asError(error));
  }

  /** The runner has ended: rejects everything. */
  end(error: unknown): void {
    this.giveUp(error);
    this.#requests.end(error);
  }
}

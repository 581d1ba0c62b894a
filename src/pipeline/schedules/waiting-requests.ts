import type { SyncMode } from '../../model/progress.ts';
import { asError } from '../session-error.ts';
import { SyncRequests, type SyncRequest } from '../sync-requests.ts';
import type { SyncResult } from '../sync-result.ts';
import type { SyncOptions } from '../sync-runner.ts';
import type { Waker } from '../waker.ts';
import type { ScheduleApproval } from './approval.ts';

export interface TakenRequests {
  /** At most one. */
  readonly approvals: readonly SyncRequest[];
  readonly syncs: readonly SyncRequest[];
}

/**
 * Requests to schedules that are not done: syncs to begin, waits for the end of the round, and the current approval.
 */
export class WaitingRequests {
  readonly #requests: SyncRequests;
  readonly #endOfRound: PromiseWithResolvers<SyncResult>[] = [];
  #approval: ScheduleApproval | null = null;

  constructor(waker: Waker) {
    this.#requests = new SyncRequests(waker);
  }

  add(mode: SyncMode, options: SyncOptions): Promise<SyncResult> {
    return this.#requests.add(mode, options);
  }

  /** Takes the requests that can be handled now. Approvals are handled one at a time. */
  take(): TakenRequests {
    const all = this.#requests.takeAll();
    const isApproval = ({ options }: SyncRequest): boolean => options.approved !== undefined;
    const given = all.filter(isApproval);
    const approvals = this.#approval === null ? given.splice(0, 1) : [];
    this.#requests.keep(given);
    return { approvals, syncs: all.filter((request) => !isApproval(request)) };
  }

  takeAll(): readonly SyncRequest[] {
    return this.#requests.takeAll();
  }

  get approval(): ScheduleApproval | null {
    return this.#approval;
  }

  beginApproval(approval: ScheduleApproval): void {
    this.#approval = approval;
  }

  endApproval(result: SyncResult): void {
    this.#approval?.resolve(result);
    this.#approval = null;
  }

  awaitEndOfRound(requests: Iterable<PromiseWithResolvers<SyncResult>>): void {
    this.#endOfRound.push(...requests);
  }

  endRound(result: SyncResult): void {
    for (const done of this.#endOfRound.splice(0)) done.resolve(result);
  }

  /** The hub is away: rejects the approval and the waits for the end of the round, because both may take long. */
  giveUp(error: unknown): void {
    this.#approval?.reject(asError(error));
    this.#approval = null;
    for (const done of this.#endOfRound.splice(0)) done.reject(asError(error));
  }

  /** The runner has ended: rejects everything. */
  end(error: unknown): void {
    this.giveUp(error);
    this.#requests.end(error);
  }
}

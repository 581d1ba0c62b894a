import { isOfOneCollection } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import { SyncAttempt, type AttemptParts, type RunOptions } from './sync-attempt.ts';
import { SyncRequests, type SyncRequest } from './sync-requests.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import { newSyncStats } from '../core/sync-stats.ts';
import { SyncRetries, type RetryParts } from './sync-retries.ts';
import type { SyncOptions } from '../sync/sync-result.ts';
import { SyncTimetable, type TimetableParts } from './sync-timetable.ts';
import { syncWithFollowUps, type FollowUpParts } from './sync-with-follow-ups.ts';

const READY_POLL_MS = 500;
/** A collection that the hub begins to offer is not urgent. */
const NOT_OFFERED_POLL_MS = 30_000;

export interface RunnerParts extends AttemptParts, TimetableParts, RetryParts {
  readonly sync: AttemptParts['sync'];
  /** Whether the configuration may name parents that it did not name when the last complete full sync ran. */
  readonly hasNewParents: () => Promise<boolean>;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Runs one collection's syncs, one after another: on request, or when they are due. */
export class CollectionRunner {
  readonly #parts: RunnerParts;
  readonly #requests: SyncRequests;
  readonly #timetable: SyncTimetable;
  readonly #syncing: FollowUpParts;
  #hasLookedForParents = false;
  #lastConfirming: SyncResult | null = null;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#requests = new SyncRequests(parts.sleep);
    const retries = new SyncRetries(parts);
    const timetable = new SyncTimetable(parts, retries);
    this.#timetable = timetable;
    this.#syncing = { ...parts, timetable, attempt: new SyncAttempt(parts, { timetable, retries }) };
  }

  get collection(): CollectionName {
    return this.#parts.collection;
  }

  /** The hub does not have this collection. */
  get isNotOffered(): boolean {
    return this.#parts.offer.isNotOffered;
  }

  /** Whether its requests need another collection's rows. */
  get hasParents(): boolean {
    return this.#parts.parent !== null;
  }

  /** The last committed progress. */
  get progress(): Progress | null {
    return this.#parts.sync.writer.progress;
  }

  /** Runs a sync as soon as possible. Rejects with the error of the sync, or of the session. */
  request(mode: SyncMode, options: SyncOptions = {}): Promise<SyncResult> {
    return this.#requests.add(mode, options);
  }

  /** Runs syncs when they are due, until the signal aborts, or until a failure that concerns the tenant. */
  async loop(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const request = this.#requests.takeFirst();
        if (request === undefined) await this.#runIfDue(signal);
        else await this.#handleRequest(request, signal);
      }
      this.#requests.end(signal.reason);
    } catch (error) {
      this.#requests.end(error);
      throw error;
    }
  }

  async #handleRequest(request: SyncRequest, signal: AbortSignal): Promise<void> {
    try {
      request.done.resolve(await this.once(request.mode, { ...request.options, signal }));
    } catch (error) {
      request.done.reject(error);
      if (!isOfOneCollection(error)) throw error;
    }
  }

  async #runIfDue(signal: AbortSignal): Promise<void> {
    const { now } = this.#parts;
    const parents = this.#parts.parents();
    if (parents === 'waiting' || (parents === 'not-offered' && this.isNotOffered)) {
      await this.#requests.rest(this.isNotOffered ? NOT_OFFERED_POLL_MS : READY_POLL_MS, signal);
      return;
    }
    await this.#lookForNewParents();
    const next = this.#timetable.next();
    if (next.kind === 'wait') {
      await this.#requests.rest(next.atMs - now(), signal);
      return;
    }
    try {
      const { mode, confirming } = next;
      const result = await syncWithFollowUps(this.#syncing, mode, { confirming, signal });
      if (confirming) this.#lastConfirming = result;
    } catch (error) {
      // The time of the next attempt is set; until then another sync may be due.
      if (signal.aborted || !isOfOneCollection(error)) throw error;
    }
  }

  /**
   * Incremental syncs bring no unchanged rows, and the next daily full sync would be late for the rows of a new
   * afterschool.
   */
  async #lookForNewParents(): Promise<void> {
    if (this.#hasLookedForParents) return;
    this.#hasLookedForParents = true;
    if (await this.#parts.hasNewParents()) this.#timetable.requireFull();
  }

  /**
   * Runs one sync, without the loop; after a change of the mapping a full one, because an incremental one would leave most
   * rows as the old mapping made them.
   */
  async once(mode: SyncMode, options: RunOptions): Promise<SyncResult> {
    const { writer, settling } = this.#parts.sync;
    if (options.confirming === true && settling.missing.owed === null)
      return this.#lastConfirming ?? nothingToConfirm(writer);
    return syncWithFollowUps(this.#syncing, writer.committed.isMappingNew ? 'FULL' : mode, options);
  }
}

/** Another process has confirmed it, or no row is missing any more. */
function nothingToConfirm({ progress }: CollectionWriter): SyncResult {
  const { syncId = '', startedAtMs = 0, rowsWithheld: withheld = 0 } = progress ?? {};
  const stats = newSyncStats({ syncId, mode: 'INCREMENTAL', startedAtMs });
  stats.rowsWithheld = withheld;
  return { kind: 'complete', stats, withheld, short: null, unconfirmed: 0, confirmAtMs: null };
}

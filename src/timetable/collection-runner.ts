import { isOfOneCollection } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { SyncResult, SyncOptions } from '../sync/sync-result.ts';
import { newSyncStats } from '../core/sync-stats.ts';
import { SyncAttempt, syncWithFollowUps, type RunOptions, type Syncing } from './sync-attempt.ts';
import { SyncRetries, SyncTimetable, type SyncedCollection } from './sync-timetable.ts';

interface SyncRequest {
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

const READY_POLL_MS = 500;
/** A collection that the hub begins to offer is not urgent. */
const NOT_OFFERED_POLL_MS = 30_000;

/** Runs one collection's syncs, one after another: on request, or when they are due. */
export class CollectionRunner {
  readonly #parts: SyncedCollection;
  readonly #requests: SyncRequests;
  readonly #timetable: SyncTimetable;
  readonly #syncing: Syncing;
  #hasLookedForParents = false;
  #lastConfirming: SyncResult | null = null;

  constructor(parts: SyncedCollection) {
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

/** Runs a task for each collection, nested collections last. The results are in the given order. */
export async function parentsFirst<T>(
  runners: ReadonlyMap<CollectionName, Pick<CollectionRunner, 'hasParents'>>,
  collections: readonly CollectionName[],
  task: (collection: CollectionName) => Promise<T>,
): Promise<readonly T[]> {
  const results = new Map<CollectionName, T>();
  const run = async (collection: CollectionName): Promise<void> => {
    results.set(collection, await task(collection));
  };
  const isLate = (collection: CollectionName): boolean => runners.get(collection)?.hasParents === true;
  await Promise.all(collections.filter((each) => !isLate(each)).map(run));
  await Promise.all(collections.filter(isLate).map(run));
  return collections.flatMap((collection) => results.get(collection) ?? []);
}

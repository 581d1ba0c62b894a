import { lastDailyTime } from '../core/daily-time.ts';
import { newSyncStats } from '../core/sync-stats.ts';
import { DAY_MS } from '../core/zone-clock.ts';
import { isOfOneCollection, RollcallError } from '../errors.ts';
import { HubError, refusesParameters } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import { runSync } from '../sync/run-sync.ts';
import type { MirroredCollection } from '../sync/sync.ts';
import type { ReplacedSync, SyncResult, SyncOptions } from '../sync/sync-result.ts';
import { syncRequests, type SyncRequest, type SyncRequests } from './sync-requests.ts';
import { SyncTimetable } from './sync-timetable.ts';

/** While the token endpoint refuses the client, a sync finds out at least this often whether its secret has been corrected. */
const LONGEST_REFUSED_MS = 15_000;

export type RunOptions = SyncOptions & {
  readonly signal: AbortSignal;
  /** For a full sync that waits for its turn among the full syncs of other tenants: ends the wait. Its reason becomes the error. */
  readonly untilTurn?: AbortSignal | undefined;
};

/** Runs syncs: reports how each sync began and ended, and notes what this means for the next one. */
export class Syncs {
  readonly #own: MirroredCollection;
  readonly #timetable: SyncTimetable;

  constructor(own: MirroredCollection, timetable: SyncTimetable) {
    this.#own = own;
    this.#timetable = timetable;
  }

  /** Runs a sync. If it is an incremental sync that the hub refuses, that brings too much, or that is short, a full sync replaces it. */
  async withFollowUps(mode: SyncMode, options: RunOptions): Promise<SyncResult> {
    if (mode === 'FULL' || !this.#timetable.canBeIncremental) return this.#full(options);
    const first = await this.#incremental(options);
    if (first.kind !== 'becomes-full') return first;
    const result = await this.#full(options);
    if (first.why === 'short' && result.kind === 'complete') this.#own.findings.ignoreFilteredTotals();
    return result;
  }

  /** A hub that refuses the filter gets full syncs instead. An incremental sync is only a hint; the full sync is the truth. */
  async #incremental(options: RunOptions): Promise<SyncResult | ReplacedSync> {
    try {
      return await this.run('INCREMENTAL', options);
    } catch (error) {
      if (!refusesParameters(error) || this.#own.source.changedScopes !== undefined) throw error;
      this.#timetable.noteFilterRefused();
      return this.#full(options);
    }
  }

  /** Runs a full sync. Meanwhile, incremental syncs go on publishing changes. */
  async #full(options: RunOptions): Promise<SyncResult> {
    const done = new AbortController();
    const broken = new AbortController();
    const signal = AbortSignal.any([options.signal, broken.signal]);
    const beside = this.#runBeside(done.signal, signal).catch((error: unknown) => broken.abort(error));
    try {
      return (await this.#inTurn({ ...options, signal })) as SyncResult;
    } catch (error) {
      // An error that concerns the tenant ends the running incremental sync as well.
      if (!isOfOneCollection(error) && error !== options.untilTurn?.reason) broken.abort(error);
      throw error;
    } finally {
      done.abort();
      await beside;
    }
  }

  /** Runs a full sync in its turn. A sync that a person requested, and a confirming sync, wait for no turn. */
  async #inTurn({ untilTurn, ...options }: RunOptions): Promise<SyncResult | ReplacedSync> {
    const { tenant, settings } = this.#own;
    const { fullSyncs, emit } = tenant;
    if (fullSyncs === undefined || untilTurn === undefined) return this.run('FULL', options);
    emit({ type: 'full-sync-waits', collection: settings.name });
    const signal = AbortSignal.any([options.signal, untilTurn]);
    return fullSyncs.run((onPage) => this.run('FULL', { ...options, onPage }), { signal, asker: tenant });
  }

  /** Runs incremental syncs beside a full sync. */
  async #runBeside(done: AbortSignal, signal: AbortSignal): Promise<void> {
    const { tenant, settings, writer } = this.#own;
    const isOver = AbortSignal.any([done, signal]);
    for (;;) {
      await tenant.runtime.sleep(settings.incrementalEveryMs, isOver).catch(() => undefined);
      if (isOver.aborted) return;
      const { hasIncremental, mayBringChanges } = this.#timetable;
      if (!hasIncremental || !mayBringChanges || writer.progress?.watermarkMs == null) continue;
      try {
        // After a nightly re-stamp, for example, the full sync that runs brings all these rows.
        if ((await this.run('INCREMENTAL', { signal })).kind === 'becomes-full') return;
      } catch (error) {
        if (!isOfOneCollection(error)) throw error;
      }
    }
  }

  /** Runs one sync, and reports and notes its result. */
  async run(mode: SyncMode, options: RunOptions): Promise<SyncResult | ReplacedSync> {
    const { signal } = options;
    const { tenant, settings, writer, findings } = this.#own;
    const { emit, runtime } = tenant;
    const collection = settings.name;
    const startedAtMs = runtime.now();
    emit({ type: 'sync-started', collection, mode });
    try {
      if (writer.committed.lost !== undefined) throw writer.committed.lost;
      const result = this.#withoutParents(mode) ?? (await runSync(this.#own, mode, options));
      // Retry an inconclusive sync like a failed one, with growing pauses.
      if (result.kind === 'inconclusive') this.#timetable.postpone(mode);
      else this.#timetable.clear(mode);
      // Even if its answers are inconclusive, the hub offers the collection.
      findings.isNotOffered = false;
      this.#timetable.noteEnd(result.stats.mode, result, startedAtMs);
      emit({
        type: 'sync-ended',
        collection,
        mode,
        outcome: result.kind,
        why: result.kind === 'complete' ? null : result.why,
        short: result.kind === 'becomes-full' ? null : result.short,
        stats: result.stats,
        // Only a full sync reads enough rows.
        unmet: result.stats.mode === 'FULL' ? settings.unmet?.sentences : undefined,
        durationMs: runtime.now() - startedAtMs,
        rows: writer.known.rows,
        rejects: writer.known.rejects,
        progress: writer.progress,
        derived: writer.committed.derived.filter((each) => each !== null),
      });
      return result;
    } catch (error) {
      if (!signal.aborted) await this.#noteFailure(error, { mode, durationMs: runtime.now() - startedAtMs });
      throw error;
    }
  }

  /** The result of a sync that cannot run yet: without all its parents, it could not tell which rows are missing. Null: it can run. */
  #withoutParents(mode: SyncMode): SyncResult | null {
    const { tenant, settings, source, writer } = this.#own;
    const { parents: parent } = source;
    const state = parentsOf(this.#own);
    if (parent === undefined || state === 'ready') return null;
    if (state === 'not-offered') throw parentNotOffered(settings.name, parent);
    const why = `${parent} has had no complete full sync yet`;
    const { randomId, now } = tenant.runtime;
    const stats = newSyncStats({ syncId: randomId(), mode, startedAtMs: now() });
    const rowsOnHold = writer.progress?.rowsOnHold ?? 0;
    return { kind: 'inconclusive', stats, why, rowsOnHold, short: null, confirmAtMs: null };
  }

  async #noteFailure(error: unknown, sync: { mode: SyncMode; durationMs: number }): Promise<void> {
    const { tenant, settings, writer, findings } = this.#own;
    const collection = settings.name;
    const isNotOffered = error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED';
    // If rows are known, a 404 counts as a temporary failure of a gateway.
    if (isNotOffered && writer.known.rows === 0 && writer.progress?.lastCompleteFull == null) {
      const isNews = !findings.isNotOffered;
      findings.isNotOffered = true;
      tenant.emit({ type: 'not-offered', collection, error, ...sync, isNews });
      // A collection whose parents are not known yet begins as soon as they are.
      if (parentsOf(this.#own) !== 'not-offered') {
        const dueAtMs = lastDailyTime(settings.fullSync, tenant.runtime.now());
        this.#timetable.postponeUntil(sync.mode, dueAtMs + DAY_MS);
      }
      return;
    }
    const retryInMs = isOfOneCollection(error) ? this.#postpone(sync.mode, error) : null;
    const { progress } = writer;
    tenant.emit({ type: 'sync-failed', collection, error, ...sync, retryInMs, progress });
  }

  #postpone(mode: SyncMode, error: unknown): number {
    if (!(error instanceof HubError)) return this.#timetable.postpone(mode);
    // The gate of the token endpoint (hub/token-gate.ts) lets corrected credentials through at once, and no others. A sync
    // that it stops costs no request.
    if (error.code.startsWith('HUB_TOKEN') && !error.retryable)
      return this.#timetable.postpone(mode, 0, LONGEST_REFUSED_MS);
    return this.#timetable.postpone(mode, error.retryAfterMs ?? 0);
  }
}

/** The state of the collection of the parents. It is ready when it has had a complete full sync, or when there is no such collection. */
function parentsOf({ source, all }: MirroredCollection): 'ready' | 'waiting' | 'not-offered' {
  const parent = source.parents === undefined ? undefined : all.get(source.parents);
  if (parent === undefined) return 'ready';
  const { lost, completeSinceMs } = parent.writer.committed;
  if (lost === undefined && completeSinceMs !== null) return 'ready';
  return parent.findings.isNotOffered ? 'not-offered' : 'waiting';
}

/** When the hub does not offer the parents' collection, it does not offer the nested one either. */
function parentNotOffered(collection: CollectionName, parent: CollectionName): HubError {
  return new HubError(
    'HUB_NOT_OFFERED',
    `${collection} cannot be read: the hub does not offer ${parent}, whose ids the requests need`,
    { remedy: `Remove ${collection} from the configuration; the others are mirrored anyway.` },
  );
}

const READY_POLL_MS = 500;
/** A collection that the hub begins to offer is not urgent. */
const NOT_OFFERED_POLL_MS = 30_000;

/** Runs one collection's syncs, one after another: on request, or when they are due. */
export class CollectionRunner {
  readonly #own: MirroredCollection;
  readonly #requests: SyncRequests;
  readonly #timetable: SyncTimetable;
  readonly #syncs: Syncs;
  #lastConfirming: SyncResult | null = null;

  constructor(own: MirroredCollection) {
    this.#own = own;
    this.#requests = syncRequests(own.tenant.runtime.sleep);
    this.#timetable = new SyncTimetable(own);
    this.#syncs = new Syncs(own, this.#timetable);
  }

  /** The hub does not have this collection. */
  get isNotOffered(): boolean {
    return this.#own.findings.isNotOffered;
  }

  /** The collection whose rows the requests need; undefined if they need none. */
  get parents(): CollectionName | undefined {
    return this.#own.source.parents;
  }

  /** The last committed progress. */
  get progress(): Progress | null {
    return this.#own.writer.progress;
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
      this.#requests.end(signal.reason as Error);
    } catch (error) {
      this.#requests.end(error as Error);
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
    const parents = parentsOf(this.#own);
    if (parents === 'waiting' || (parents === 'not-offered' && this.isNotOffered)) {
      await this.#requests.rest(this.isNotOffered ? NOT_OFFERED_POLL_MS : READY_POLL_MS, signal);
      return;
    }
    const next = this.#timetable.next();
    if (next.kind === 'wait') {
      await this.#requests.rest(next.atMs - this.#own.tenant.runtime.now(), signal);
      return;
    }
    const arrival = this.#requests.arrival();
    try {
      const { mode, confirming } = next;
      const untilTurn = confirming ? undefined : arrival;
      const result = await this.#syncs.withFollowUps(mode, { confirming, signal, untilTurn });
      if (confirming) this.#lastConfirming = result;
    } catch (error) {
      if (error === arrival.reason) return;
      // The time of the next attempt is set; until then another sync may be due.
      if (signal.aborted || !isOfOneCollection(error)) throw error;
    }
  }

  /**
   * Runs one sync, without the loop. After a change of the mapping it is a full sync, because an incremental sync
   * would leave most rows as the old mapping made them.
   */
  async once(mode: SyncMode, options: RunOptions): Promise<SyncResult> {
    const { writer, deletions } = this.#own;
    const { rowsOnHold = 0, deletions: logged } = writer.progress ?? {};
    // A hold that is over may have put off confirmed removals. A confirming sync removes these rows.
    const arePutOff = rowsOnHold > 0 && logged?.onHoldSinceMs === null;
    const isNeeded = deletions.missing?.confirmAtMs != null || arePutOff;
    const last = this.#lastConfirming;
    // If another sync has settled missing rows since, the last confirming sync says nothing about these rows.
    const isCurrent = last !== null && last.stats.syncId === logged?.settledBy;
    if (options.confirming === true && !isNeeded) return isCurrent ? last : nothingToConfirm(writer);
    return this.#syncs.withFollowUps(writer.committed.isMappingNew ? 'FULL' : mode, options);
  }
}

/** The result of a confirming sync that is not needed: another process has confirmed the removals, or no row is missing any more. */
function nothingToConfirm({ progress }: CollectionWriter): SyncResult {
  const { syncId = '', startedAtMs = 0, rowsOnHold = 0 } = progress ?? {};
  const stats = newSyncStats({ syncId, mode: 'INCREMENTAL', startedAtMs });
  return { kind: 'complete', stats, rowsOnHold, short: null, unconfirmed: 0, confirmAtMs: null };
}

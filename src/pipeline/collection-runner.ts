import { lastFullPullDue, type FullPullTime } from '../core/full-pull-time.ts';
import { nextSync } from '../core/next-sync.ts';
import { RollcallError, isFromHub } from '../errors.ts';
import { HubError } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import { jitteredPauseMs } from '../retry-policy.ts';
import type { Emit } from './events.ts';
import type { FullSyncs } from './full-syncs.ts';
import { parentNotOffered, type Offer, type ParentState } from './offer.ts';
import { runSync } from './sync-pass.ts';
import type { SyncParts } from './sync-parts.ts';
import type { SyncResult } from './sync-result.ts';
import type { SyncOptions, SyncRunner } from './sync-runner.ts';
import type { SyncStats } from './sync-stats.ts';
import { asError } from './session-error.ts';
import { discardList } from './withholding.ts';

const LONGEST_RETRY_MS = 300_000;
/** As long as a refused client waits before it asks for a token again (hub/token.ts). */
const LONGEST_ASKED_MS = 600_000;
const SHORTEST_RETRY_MS = 1_000;
const READY_POLL_MS = 500;
/** A hub that begins to offer a collection is no hurry. */
const NOT_OFFERED_POLL_MS = 30_000;
/** Where only full passes bring changes, the hub rests for so many times as long as one took. */
const FULL_RESTS = 10;
const DAY_MS = 24 * 3_600_000;

export interface RunnerParts {
  readonly collection: CollectionName;
  readonly sync: SyncParts;
  readonly fullSyncs: FullSyncs;
  readonly hasDelta: boolean;
  /** The collection from whose rows its walks come; null for most. */
  readonly parent: CollectionName | null;
  /** Of the collection that this one's walks come from; ready where there is none. */
  readonly parents: () => ParentState;
  /** Whether the configuration may name parents that it did not name when the collection was last read whole. */
  readonly hasNewParents: () => Promise<boolean>;
  readonly offer: Offer;
  readonly fullPull: FullPullTime;
  readonly deltaEveryMs: number;
  readonly now: () => number;
  /** 0 to 1 */
  readonly random: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly emit: Emit;
}

type OnceOptions = SyncOptions & { readonly signal: AbortSignal };

interface SyncRequest {
  readonly mode: SyncMode;
  readonly options: SyncOptions;
  readonly done: PromiseWithResolvers<SyncResult>;
}

/** Runs one collection's passes, one after another: on demand, or when they are due. */
export class CollectionRunner implements SyncRunner {
  readonly #parts: RunnerParts;
  readonly #requests: SyncRequest[] = [];
  #wake: () => void = () => undefined;
  #hasLookedForParents = false;
  #lastSyncAtMs: number | null = null;
  #lastFullAtMs: number | null;
  /** In a row, by mode: a full pass that cannot be had says little about deltas. */
  readonly #failures: Record<SyncMode, number> = { FULL: 0, DELTA: 0 };
  readonly #notBeforeMs: Record<SyncMode, number> = { FULL: 0, DELTA: 0 };
  #notedAtMs = 0;
  #isFilterRefused = false;
  #fullTookMs = 0;
  #ended: { readonly error: unknown } | null = null;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    const { isMappingNew, completeSinceMs } = parts.sync.writer;
    // What `drop` and `pseudonymise` name since is to leave the topics now, and not with the next night's pass.
    this.#lastFullAtMs = isMappingNew ? null : completeSinceMs;
  }

  get collection(): CollectionName {
    return this.#parts.collection;
  }

  /** The hub does not have this collection. */
  get isNotOffered(): boolean {
    return this.#parts.offer.isNotOffered;
  }

  get hasParents(): boolean {
    return this.#parts.parent !== null;
  }

  get progress(): Progress | null {
    return this.#parts.sync.writer.progress;
  }

  discardWithheld(): Promise<void> {
    return discardList(this.#parts.sync.deletions);
  }

  /** A pass as soon as the one at hand is over. Rejects with what the pass, or the whole session, fails with. */
  request(mode: SyncMode, options: SyncOptions = {}): Promise<SyncResult> {
    if (this.#ended !== null) return Promise.reject(asError(this.#ended.error));
    const done = Promise.withResolvers<SyncResult>();
    this.#requests.push({ mode, options, done });
    this.#wake();
    return done.promise;
  }

  /** Until the signal aborts, or something fails that concerns the whole tenant. */
  async loop(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const request = this.#requests.shift();
        if (request === undefined) await this.#whatIsDue(signal);
        else await this.#handleRequests(request, signal);
      }
      this.#end(signal.reason);
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  #end(error: unknown): void {
    this.#ended = { error };
    for (const { done } of this.#requests.splice(0)) done.reject(asError(error));
  }

  async #handleRequests(request: SyncRequest, signal: AbortSignal): Promise<void> {
    try {
      request.done.resolve(await this.once(request.mode, { ...request.options, signal }));
    } catch (error) {
      request.done.reject(asError(error));
      if (!isFromHub(error)) throw error;
    }
  }

  async #whatIsDue(signal: AbortSignal): Promise<void> {
    const { now, deltaEveryMs, fullPull, sync } = this.#parts;
    const nowMs = now();
    const parents = this.#parts.parents();
    if (parents === 'waiting' || (parents === 'not-offered' && this.isNotOffered)) {
      await this.#rest(this.isNotOffered ? NOT_OFFERED_POLL_MS : READY_POLL_MS, signal);
      return;
    }
    if (!this.#hasLookedForParents) {
      // Deltas tell nothing of rows that have not changed, and the next night is late for an afterschool's.
      this.#hasLookedForParents = true;
      if (await this.#parts.hasNewParents()) this.#lastFullAtMs = null;
    }
    const next = nextSync({
      watermarkMs: sync.writer.progress?.watermarkMs ?? null,
      lastFullAtMs: this.#isWrongTenant ? null : this.#lastFullAtMs,
      lastSyncAtMs: this.#lastSyncAtMs,
      fullDueAtMs: lastFullPullDue(fullPull, nowMs),
      fullNotBeforeMs: this.#notBefore('FULL', nowMs),
      deltaNotBeforeMs: this.#notBefore('DELTA', nowMs),
      deltaEveryMs,
      hasDelta: this.#canDelta,
      fullEveryMs: this.#isFilterRefused ? Math.max(deltaEveryMs, this.#fullTookMs * FULL_RESTS) : null,
      hubNowMs: nowMs + (sync.clock.skewMs ?? 0),
      nowMs,
    });
    if (next.kind === 'wait') {
      await this.#rest(next.atMs - nowMs, signal);
      return;
    }
    try {
      await this.#whole(next.mode, { signal });
    } catch (error) {
      // When to try again has been noted; until then something else may be due.
      if (signal.aborted || !isFromHub(error)) throw error;
    }
  }

  /** As {@link request}: a full pass after a change of the mapping, whose fields a delta would leave in most rows. */
  once(mode: SyncMode, options: OnceOptions): Promise<SyncResult> {
    return this.#whole(this.#parts.sync.writer.isMappingNew ? 'FULL' : mode, options);
  }

  /** One pass, whatever it takes: a delta that turns out wholesale, and a full pass that wants a second, end in full ones. */
  async #whole(mode: SyncMode, options: OnceOptions): Promise<SyncResult> {
    let result = mode === 'DELTA' && this.#canDelta ? await this.#delta(options) : await this.#full(options);
    if (result.kind === 'wholesale') result = withEarlier(result.stats, await this.#full(options));
    if (result.kind === 'complete' && result.wantsSecondSync) {
      const first = result.approvedGone ?? 0;
      if (result.wantsOthersFirst === true) await this.#othersOver(options.signal);
      result = withEarlier(result.stats, await this.#full(options));
      // What the first of them let out, the second does not find any more; unless it proved nothing itself.
      if (result.kind === 'complete' && result.approvedGone != null && result.approvedGone < first)
        result = { ...result, approvedGone: first };
    }
    return result;
  }

  /** It came with quite other rows: whose they are can be told from all of them alone. */
  get #isWrongTenant(): boolean {
    return this.#parts.sync.identity?.isFlagged(this.collection) === true;
  }

  /** Whether changes alone can be asked for; else a full pass is made in place of a delta. */
  get #canDelta(): boolean {
    const { writer } = this.#parts.sync;
    const isKnown = writer.completeSinceMs !== null && writer.progress?.watermarkMs != null;
    return this.#hasDelta && isKnown && !this.#isWrongTenant;
  }

  /** A hub that refuses the filter gets full passes instead: a delta is a hint, the full pass is the truth. */
  async #delta(options: OnceOptions): Promise<SyncResult> {
    try {
      return await this.#sync('DELTA', options);
    } catch (error) {
      const isRefused = error instanceof RollcallError && error.code === 'HUB_REQUEST_REFUSED';
      if (!isRefused) throw error;
      this.#isFilterRefused = true;
      return this.#full(options);
    }
  }

  get #hasDelta(): boolean {
    return this.#parts.hasDelta && !this.#isFilterRefused;
  }

  #full({ signal, ...options }: OnceOptions): Promise<SyncResult> {
    const { fullSyncs } = this.#parts;
    return fullSyncs.run(this.collection, () =>
      this.#besideDeltas(signal, (both) => this.#sync('FULL', { ...options, signal: both })),
    );
  }

  /** What the other collections lose tells whether what this one lost is to be believed. */
  #othersOver(signal: AbortSignal): Promise<void> {
    return this.#besideDeltas(signal, (both) => this.#parts.fullSyncs.othersOver(this.collection, both));
  }

  /** What may take long: changes go on coming out in deltas meanwhile. */
  async #besideDeltas<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const done = new AbortController();
    const broken = new AbortController();
    const both = AbortSignal.any([signal, broken.signal]);
    const deltas = this.#deltasUntil(done.signal, both).catch((error: unknown) => broken.abort(error));
    try {
      return await work(both);
    } catch (error) {
      // What concerns the tenant ends the delta at hand as well.
      if (!isFromHub(error)) broken.abort(error);
      throw error;
    } finally {
      done.abort();
      await deltas;
    }
  }

  async #deltasUntil(done: AbortSignal, signal: AbortSignal): Promise<void> {
    const { deltaEveryMs, sync, sleep } = this.#parts;
    const isOver = AbortSignal.any([done, signal]);
    for (;;) {
      await sleep(deltaEveryMs, isOver).catch(() => undefined);
      if (isOver.aborted) return;
      if (!this.#hasDelta || sync.writer.progress?.watermarkMs == null) continue;
      try {
        // The night's re-stamp: the full pass at hand brings it all.
        if ((await this.#sync('DELTA', { signal })).kind === 'wholesale') return;
      } catch (error) {
        if (!isFromHub(error)) throw error;
      }
    }
  }

  async #sync(mode: SyncMode, options: OnceOptions): Promise<SyncResult> {
    const { signal } = options;
    const { collection, emit, now, sync } = this.#parts;
    const startedAtMs = now();
    emit({ type: 'pass-started', collection, mode });
    try {
      this.#requireParents();
      const result = await runSync(sync, mode, options);
      if (result.kind === 'suspect') {
        // A hub that proves nothing is asked again like one that fails: soon, then ever more rarely.
        this.#postpone(mode);
      } else {
        this.#failures[mode] = 0;
        this.#notBeforeMs[mode] = 0;
      }
      // Whatever its answers prove of the rows, the hub has the collection.
      await this.#parts.offer.noteOffered();
      // After a full pass, which may have taken long, from its end on: the hub needs its rest.
      this.#lastSyncAtMs = mode === 'FULL' ? now() : startedAtMs;
      if (mode === 'FULL') this.#fullTookMs = now() - startedAtMs;
      if (mode === 'FULL' && result.kind === 'complete') this.#lastFullAtMs = startedAtMs;
      emit({
        type: 'pass-ended',
        collection,
        outcome: result.kind,
        why: result.kind === 'suspect' ? result.why : null,
        stats: result.stats,
        durationMs: now() - startedAtMs,
        rows: sync.writer.knownRows,
        rejects: sync.writer.knownRejects,
        progress: sync.writer.progress,
      });
      return result;
    } catch (error) {
      const durationMs = now() - startedAtMs;
      if (signal.aborted) emit({ type: 'pass-stopped', collection, mode, durationMs });
      else await this.#noteFailure(error, { mode, durationMs });
      throw error;
    }
  }

  #requireParents(): void {
    const { collection, parent, parents } = this.#parts;
    if (parent !== null && parents() === 'not-offered') throw parentNotOffered(collection, parent);
  }

  async #noteFailure(error: unknown, sync: { mode: SyncMode; durationMs: number }): Promise<void> {
    const { collection, emit, fullPull, now } = this.#parts;
    const { writer } = this.#parts.sync;
    const isNotOffered = error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED';
    // Where rows are known, a 404 is a gateway's bad minute like any other.
    if (isNotOffered && writer.knownRows === 0 && writer.progress?.lastCompleteFull == null) {
      const isNews = await this.#parts.offer.noteNotOffered();
      emit({ type: 'not-offered', collection, error, ...sync, isNews });
      this.#notedAtMs = now();
      // One that lacks its parents begins as soon as these are there.
      if (this.#parts.parents() !== 'not-offered')
        this.#notBeforeMs[sync.mode] = lastFullPullDue(fullPull, now()) + DAY_MS;
      return;
    }
    const askedMs = error instanceof HubError ? (error.retryAfterMs ?? 0) : 0;
    const retryInMs = isFromHub(error) ? this.#postpone(sync.mode, askedMs) : null;
    emit({ type: 'pass-failed', collection, error, ...sync, retryInMs });
  }

  /**
   * Notes one more failure in a row; returns for how long such a pass is not tried again, ms. `askedMs`: how long the
   * hub, its token endpoint or an open circuit lets nothing through: a pass before that would only fail again.
   */
  #postpone(mode: SyncMode, askedMs = 0): number {
    const { deltaEveryMs, now, random } = this.#parts;
    this.#failures[mode] += 1;
    const firstMs = Math.max(SHORTEST_RETRY_MS, Math.min(deltaEveryMs, 15_000));
    const backoff = { firstMs, longestMs: LONGEST_RETRY_MS };
    const ownMs = jitteredPauseMs(backoff, this.#failures[mode], random);
    const retryInMs = Math.max(SHORTEST_RETRY_MS, ownMs, Math.min(askedMs, LONGEST_ASKED_MS));
    this.#notedAtMs = now();
    this.#notBeforeMs[mode] = now() + retryInMs;
    return retryInMs;
  }

  /** What was noted by a clock that has been set back since says nothing any more. */
  #notBefore(mode: SyncMode, nowMs: number): number {
    return nowMs < this.#notedAtMs ? 0 : this.#notBeforeMs[mode];
  }

  /** Sleeps, unless something is demanded. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#requests.length > 0) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#parts.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
  }
}

/** What one demand came to, where it took two passes: what each published, and what the last one saw. */
function withEarlier(earlier: SyncStats, result: SyncResult): SyncResult {
  const stats: SyncStats = {
    ...result.stats,
    rowsCreated: earlier.rowsCreated + result.stats.rowsCreated,
    rowsUpdated: earlier.rowsUpdated + result.stats.rowsUpdated,
    rowsRemoved: earlier.rowsRemoved + result.stats.rowsRemoved,
  };
  return { ...result, stats };
}

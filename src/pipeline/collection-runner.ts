import { lastFullPullDue, type FullPullTime } from '../core/full-pull-time.ts';
import { nextPass } from '../core/next-pass.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { PassMode } from '../model/progress.ts';
import type { Emit } from './events.ts';
import { runPass, type PassParts, type PassResult } from './pass.ts';

const LONGEST_RETRY_MS = 300_000;
const SHORTEST_RETRY_MS = 1_000;
const READY_POLL_MS = 500;

export interface RunnerParts {
  readonly collection: CollectionName;
  readonly pass: PassParts;
  readonly hasDelta: boolean;
  /** Whether its walks come from another collection's rows. */
  readonly hasParents: boolean;
  /** False while the collection that this one's walks come from has not been read whole. */
  readonly isReady: () => boolean;
  readonly fullPull: FullPullTime;
  readonly deltaEveryMs: number;
  readonly now: () => number;
  /** 0 to 1 */
  readonly random: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly emit: Emit;
}

interface Demand {
  readonly mode: PassMode;
  readonly done: PromiseWithResolvers<PassResult>;
}

/** Runs one collection's passes, one after another: on demand, or when they are due. */
export class CollectionRunner {
  readonly #parts: RunnerParts;
  readonly #demands: Demand[] = [];
  #wake: () => void = () => undefined;
  #lastPassAtMs: number | null = null;
  #lastFullAtMs: number | null;
  #failures = 0;
  #notOfferedUntilMs: number | null = null;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#lastFullAtMs = parts.pass.writer.progress?.lastCompleteFull?.startedAtMs ?? null;
  }

  get collection(): CollectionName {
    return this.#parts.collection;
  }

  get hasParents(): boolean {
    return this.#parts.hasParents;
  }

  /** A pass as soon as the one at hand is over. Rejects with what the pass fails with. */
  demand(mode: PassMode): Promise<PassResult> {
    const done = Promise.withResolvers<PassResult>();
    this.#demands.push({ mode, done });
    this.#wake();
    return done.promise;
  }

  /** Until the signal aborts, or something fails that concerns the whole tenant. */
  async loop(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const demand = this.#demands.shift();
        if (demand === undefined) await this.#whatIsDue(signal);
        else await this.#meet(demand, signal);
      }
    } finally {
      for (const { done } of this.#demands) done.reject(signal.reason as Error);
    }
  }

  async #meet(demand: Demand, signal: AbortSignal): Promise<void> {
    try {
      demand.done.resolve(await this.once(demand.mode, signal));
    } catch (error) {
      demand.done.reject(error);
      demand.done.promise.catch(() => undefined);
      if (concernsTenant(error)) throw error;
    }
  }

  async #whatIsDue(signal: AbortSignal): Promise<void> {
    const { now, deltaEveryMs, fullPull, hasDelta, pass } = this.#parts;
    const nowMs = now();
    if (!this.#parts.isReady()) {
      await this.#rest(READY_POLL_MS, signal);
      return;
    }
    if (this.#notOfferedUntilMs !== null && lastFullPullDue(fullPull, nowMs) <= this.#notOfferedUntilMs) {
      await this.#rest(deltaEveryMs, signal);
      return;
    }
    const next = nextPass({
      watermarkMs: pass.writer.progress?.watermarkMs ?? null,
      lastFullAtMs: this.#lastFullAtMs,
      lastPassAtMs: this.#lastPassAtMs,
      fullDueAtMs: lastFullPullDue(fullPull, nowMs),
      deltaEveryMs,
      hasDelta,
      hubNowMs: nowMs + (pass.clock.skewMs ?? 0),
      nowMs,
    });
    if (next.kind === 'wait') {
      await this.#rest(next.atMs - nowMs, signal);
      return;
    }
    try {
      const result = await this.once(next.mode, signal);
      if (result.kind === 'suspect') await this.#rest(this.#retryInMs(), signal);
    } catch (error) {
      if (signal.aborted || concernsTenant(error)) throw error;
      await this.#rest(this.#retryInMs(), signal);
    }
  }

  /** One pass, whatever it takes: a delta that turns out wholesale, and a full pass that wants a second, end in full ones. */
  async once(mode: PassMode, signal: AbortSignal): Promise<PassResult> {
    const { hasDelta, pass } = this.#parts;
    const canDelta = hasDelta && pass.writer.progress?.watermarkMs != null;
    let result = mode === 'DELTA' && canDelta ? await this.#pass('DELTA', signal) : await this.#full(signal);
    if (result.kind === 'wholesale') result = await this.#full(signal);
    if (result.kind === 'complete' && result.wantsSecondPass) result = await this.#full(signal);
    return result;
  }

  /** A full pass, which may take long; changes go on coming out in deltas meanwhile. */
  async #full(signal: AbortSignal): Promise<PassResult> {
    const done = new AbortController();
    const broken = new AbortController();
    const both = AbortSignal.any([signal, broken.signal]);
    const deltas = this.#deltasUntil(done.signal, both).catch((error: unknown) => broken.abort(error));
    try {
      return await this.#pass('FULL', both);
    } finally {
      done.abort();
      await deltas;
    }
  }

  async #deltasUntil(done: AbortSignal, signal: AbortSignal): Promise<void> {
    const { deltaEveryMs, hasDelta, pass, sleep } = this.#parts;
    const isOver = AbortSignal.any([done, signal]);
    for (;;) {
      await sleep(deltaEveryMs, isOver).catch(() => undefined);
      if (isOver.aborted) return;
      if (!hasDelta || pass.writer.progress?.watermarkMs == null) continue;
      try {
        // The night's re-stamp: the full pass at hand brings it all.
        if ((await this.#pass('DELTA', signal)).kind === 'wholesale') return;
      } catch (error) {
        if (concernsTenant(error)) throw error;
      }
    }
  }

  async #pass(mode: PassMode, signal: AbortSignal): Promise<PassResult> {
    const { collection, emit, now, pass } = this.#parts;
    const startedAtMs = now();
    emit({ type: 'pass-started', collection, mode });
    try {
      const result = await runPass(pass, mode, signal);
      // A hub that proves nothing is asked again like one that fails: soon, then ever more rarely.
      this.#failures = result.kind === 'suspect' ? this.#failures + 1 : 0;
      this.#notOfferedUntilMs = null;
      // After a full pass, which may have taken long, from its end on: the hub needs its rest.
      this.#lastPassAtMs = mode === 'FULL' ? now() : startedAtMs;
      if (mode === 'FULL' && result.kind === 'complete') this.#lastFullAtMs = startedAtMs;
      emit({
        type: 'pass-ended',
        collection,
        outcome: result.kind,
        why: result.kind === 'suspect' ? result.why : null,
        stats: result.stats,
        durationMs: now() - startedAtMs,
        rows: pass.writer.knownRows,
        rejects: pass.writer.knownRejects,
        progress: pass.writer.progress,
      });
      return result;
    } catch (error) {
      if (!signal.aborted) this.#noteFailure(error, mode, startedAtMs);
      throw error;
    }
  }

  #noteFailure(error: unknown, mode: PassMode, startedAtMs: number): void {
    const { collection, emit } = this.#parts;
    if (error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED') {
      if (this.#notOfferedUntilMs === null) emit({ type: 'not-offered', collection });
      this.#notOfferedUntilMs = startedAtMs;
      return;
    }
    this.#failures += 1;
    emit({
      type: 'pass-failed',
      collection,
      mode,
      error,
      durationMs: this.#parts.now() - startedAtMs,
      retryInMs: concernsTenant(error) ? null : this.#retryInMs(),
    });
  }

  /** Between half and all of a time that doubles with each failure in a row. */
  #retryInMs(): number {
    const { deltaEveryMs, random } = this.#parts;
    const first = Math.max(SHORTEST_RETRY_MS, Math.min(deltaEveryMs, 15_000));
    const longest = Math.min(LONGEST_RETRY_MS, first * 2 ** Math.min(this.#failures - 1, 10));
    return Math.round(Math.max(SHORTEST_RETRY_MS, longest * (0.5 + random() / 2)));
  }

  /** Sleeps, unless something is demanded. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#parts.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
  }
}

/** Whether an error says something about the log or the index, which all collections of the tenant share. */
function concernsTenant(error: unknown): boolean {
  if (!(error instanceof RollcallError)) return true;
  return !error.code.startsWith('HUB_');
}

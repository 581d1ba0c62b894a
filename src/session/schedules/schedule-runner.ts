import { lastFullPullDue } from '../../core/full-pull-time.ts';
import { AskQueue } from '../../core/schedules/ask-queue.ts';
import { roundDue, type RoundPlan } from '../../core/schedules/round-time.ts';
import { RollcallError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import type { SyncMode, Progress } from '../../model/progress.ts';
import { parentNotOffered, type ParentState } from '../../timetable/offer.ts';
import { asError } from '../../timetable/session-error.ts';
import type { SyncResult } from '../../sync/sync-result.ts';
import type { SyncRunner } from '../../timetable/sync-runner.ts';
import type { SyncOptions } from '../../sync/sync-result.ts';
import { Waker } from '../../timetable/waker.ts';
import { Asking, type AskingParts } from './asking.ts';
import { SCHEDULES, ScheduleSyncs, type Round, type ScheduleSyncParts } from './schedule-syncs.ts';
import { WaitingRequests, type TakenRequests } from './waiting-requests.ts';
import { WantedList, type WantedListParts } from './wanted-list.ts';

const READY_POLL_MS = 500;
/** Longest rest. The clock may be set, so due times are checked at least this often. */
const LONGEST_REST_MS = 30_000;

export interface ScheduleRunnerParts extends AskingParts, WantedListParts, ScheduleSyncParts {
  /** The collection that names the wanted students; null for a configured list of ids. */
  readonly parent: CollectionName | null;
  readonly parents: () => ParentState;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Runs `schedules`: asks for each wanted student once per round, which takes a day, and at once when an absence of the
 * student changes. Publishes days as answers come; the end of a round settles those that became empty. At the beginning of
 * a round it removes, without guard and confirmation, the days outside the window and the students no longer wanted.
 */
export class ScheduleRunner implements SyncRunner {
  readonly collection = SCHEDULES;
  readonly #parts: ScheduleRunnerParts;
  readonly #waker: Waker;
  readonly #queue = new AskQueue();
  readonly #wanted: WantedList;
  readonly #requests: WaitingRequests;
  readonly #syncs: ScheduleSyncs;
  readonly #asking: Asking;
  #lastDueMs: number | null = null;

  constructor(parts: ScheduleRunnerParts) {
    this.#parts = parts;
    const queue = this.#queue;
    const waker = new Waker(parts.sleep);
    const wanted = new WantedList(parts, { queue, waker });
    const requests = new WaitingRequests(waker);
    const syncs = new ScheduleSyncs(parts);
    this.#waker = waker;
    this.#wanted = wanted;
    this.#requests = requests;
    this.#syncs = syncs;
    this.#asking = new Asking(parts, { queue, wanted, syncs, requests, waker });
  }

  get isNotOffered(): boolean {
    return this.#parts.offer.isNotOffered;
  }

  get hasParents(): boolean {
    return this.#parts.parent !== null;
  }

  get progress(): Progress | null {
    return this.#parts.writer.progress;
  }

  request(mode: SyncMode, options: SyncOptions = {}): Promise<SyncResult> {
    return this.#requests.add(mode, options);
  }

  async loop(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        if (this.#parts.parents() === 'ready') {
          await this.#wanted.current();
          await this.#handleRequests();
          const plan = this.#plan();
          if (plan !== null) await this.#beginRound(plan);
          else if (this.#isConfirmingDue) await this.#beginPart({ confirming: true });
          await this.#turn(signal);
        } else {
          await this.#handleWithoutParents();
          await this.#waker.rest(this.isNotOffered ? LONGEST_REST_MS : READY_POLL_MS, signal);
        }
      }
      this.#end(signal.reason);
    } catch (error) {
      this.#end(error);
      throw error;
    } finally {
      await this.#asking.ended();
    }
  }

  async once(mode: SyncMode, options: SyncOptions & { readonly signal: AbortSignal }): Promise<SyncResult> {
    const { signal, approved, confirming = false } = options;
    if (this.#parts.parents() !== 'ready') return this.#withoutParents();
    this.#asking.forgetAway();
    const done = Promise.withResolvers<SyncResult>();
    done.promise.catch(() => undefined);
    if (approved !== undefined || confirming) {
      this.#requests.awaitEndOfRound([done]);
      await this.#beginPart(options);
      await this.#turnsUntil(() => this.#syncs.round === null, signal);
      return done.promise;
    }
    if (mode === 'DELTA' && this.#hasCompleteRound) {
      await this.#wanted.current();
      await this.#wanted.admitNewcomers();
      this.#syncs.beginSum();
      const nowMs = this.#parts.now();
      this.#queue.beginRound({ students: this.#queue.takeChanged(), nowMs, endMs: nowMs });
      await this.#turnsUntil(() => this.#queue.unanswered === 0 && this.#queue.inFlight === 0, signal);
      return this.#syncs.endSum();
    }
    this.#requests.awaitEndOfRound([done]);
    await this.#beginRound(this.#planNow(), options);
    await this.#turnsUntil(() => this.#syncs.round === null, signal);
    return done.promise;
  }

  /** Throws the hub's error once the hub counts as away. */
  async #turnsUntil(isOver: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isOver()) {
      signal.throwIfAborted();
      await this.#turn(signal);
      const { away } = this.#asking;
      if (away === null) continue;
      await this.#syncs.flush({ isForced: false });
      this.#syncs.dropRound();
      throw away;
    }
  }

  /** The round to begin now; null if none is due. */
  #plan(): RoundPlan | null {
    const { fullPull, now, writer } = this.#parts;
    return roundDue({
      fullPull,
      nowMs: now(),
      lastDueMs: this.#lastDueMs,
      lastCompleteMs: this.#hasCompleteRound
        ? (writer.progress?.lastCompleteFull?.startedAtMs ?? null)
        : null,
    });
  }

  /** Whether a round was complete under the mapping in force. If so, unchanged students need not be asked for. */
  get #hasCompleteRound(): boolean {
    const { writer } = this.#parts;
    return !writer.committed.isMappingNew && writer.progress?.lastCompleteFull != null;
  }

  #planNow(): RoundPlan {
    const nowMs = this.#parts.now();
    return { dueMs: lastFullPullDue(this.#parts.fullPull, nowMs), endMs: nowMs };
  }

  async #handleRequests(): Promise<void> {
    const taken = this.#requests.take();
    try {
      await this.#handle(taken);
    } catch (error) {
      // No one else can answer a request that was taken.
      for (const request of [taken.part, ...taken.syncs]) request?.done.reject(asError(error));
      throw error;
    }
  }

  async #handle({ part, syncs }: TakenRequests): Promise<void> {
    if (part !== null) {
      this.#requests.awaitEndOfRound([part.done]);
      await this.#beginPart(part.options);
    }
    const full = syncs.filter(({ mode }) => mode === 'FULL' || !this.#hasCompleteRound);
    if (full.length > 0) {
      this.#requests.awaitEndOfRound(full.map(({ done }) => done));
      await this.#beginRound(this.#planNow(), full.find(({ options }) => options.republication)?.options);
    }
    const deltas = syncs.filter((request) => !full.includes(request));
    if (deltas.length === 0) return;
    // Changed students are asked for at once anyway, so the result is what came until now.
    this.#syncs.beginSum();
    const result = await this.#syncs.endSum();
    for (const { done } of deltas) done.resolve(result);
  }

  get #isConfirmingDue(): boolean {
    const { settling, now } = this.#parts;
    const { owed } = settling.missing;
    return this.#syncs.round === null && owed !== null && owed.atMs <= now();
  }

  /** Asks at once for the students of missing or approved days. A round that this ends begins again afterwards. */
  async #beginPart({ approved, confirming = false }: SyncOptions): Promise<void> {
    const keys = approved?.keys ?? this.#parts.settling.missing.keys?.keys() ?? [];
    const nowMs = this.#parts.now();
    await this.#syncs.flush({ isForced: false });
    if (this.#syncs.round !== null) this.#lastDueMs = null;
    const wanted = await this.#wanted.current();
    const concerned = new Set([...keys].flatMap((key) => splitCompositeKey(key)?.[0] ?? []));
    const students = [...concerned].filter((student) => wanted.has(student));
    this.#syncs.beginRound({ isHurried: true, part: { students, approved, isConfirming: confirming } });
    this.#asking.reset(wanted);
    this.#queue.beginRound({ students, nowMs, endMs: nowMs });
  }

  async #beginRound(plan: RoundPlan, { republication }: SyncOptions = {}): Promise<void> {
    const { now } = this.#parts;
    const left = this.#syncs.round === null ? [] : [...this.#queue.unansweredStudents()];
    await this.#syncs.flush({ isForced: false });
    this.#lastDueMs = plan.dueMs;
    const window = this.#wanted.window();
    const wanted = await this.#wanted.list(window);
    await this.#syncs.flush({ isForced: false });
    this.#syncs.beginRound({ isHurried: plan.endMs <= now(), republication });
    await this.#syncs.sweep(wanted, window);
    this.#asking.reset(wanted);
    // Students whom the last round did not reach come first. Otherwise rounds that never end would always miss the same
    // ones.
    const first = left.filter((student) => wanted.has(student));
    this.#queue.beginRound({ students: [...first, ...wanted], nowMs: now(), endMs: plan.endMs });
  }

  /** One step: looks up newcomers, sends requests, publishes answers, ends the round, or waits. */
  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#wanted.newcomersDueInMs() <= 0) await this.#wanted.admitNewcomers();
    const askAtMs = this.#asking.start(signal);
    this.#asking.throwFailure();
    const { round } = this.#syncs;
    if (round !== null && this.#queue.unanswered === 0 && this.#queue.inFlight === 0) {
      await this.#endRound(round);
      return;
    }
    const flushInMs = this.#syncs.dueInMs(this.#asking.underWay);
    const askInMs = askAtMs - this.#parts.now();
    if (flushInMs <= 0) await this.#syncs.flush({ isForced: false });
    else {
      const restMs = Math.min(askInMs, flushInMs, this.#wanted.newcomersDueInMs(), LONGEST_REST_MS);
      await this.#waker.rest(restMs, signal);
    }
  }

  async #endRound(round: Round): Promise<void> {
    await this.#syncs.flush({ isForced: false });
    const result = await this.#syncs.completeRound(round, await this.#wanted.current());
    await this.#parts.offer.noteOffered();
    this.#requests.endRound(result);
  }

  async #handleWithoutParents(): Promise<void> {
    const requests = this.#requests.takeAll();
    if (requests.length === 0 && this.isNotOffered) return;
    try {
      const result = await this.#withoutParents();
      for (const { done } of requests) done.resolve(result);
    } catch (error) {
      for (const { done } of requests) done.reject(asError(error));
      if (!(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED') throw error;
    }
  }

  /** Throws if the hub does not offer the collection that names the wanted students. */
  async #withoutParents(): Promise<SyncResult> {
    const { parent, parents } = this.#parts;
    if (parent === null || parents() !== 'not-offered') return this.#notReady();
    const error = parentNotOffered(SCHEDULES, parent);
    await this.#asking.reportNotOffered(error);
    throw error;
  }

  #notReady(): SyncResult {
    const { stats } = this.#syncs.newSync('FULL');
    const why = 'the collection that names the wanted students has had no complete full sync yet';
    return { kind: 'inconclusive', stats, why, withheld: 0, short: null, confirmAtMs: null };
  }

  #end(error: unknown): void {
    this.#requests.end(error);
  }
}

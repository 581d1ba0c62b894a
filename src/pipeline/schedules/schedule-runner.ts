import { lastFullPullDue, localDate, type FullPullTime } from '../../core/full-pull-time.ts';
import { AskQueue } from '../../core/schedules/ask-queue.ts';
import { nextDue, roundDue, type RoundPlan } from '../../core/schedules/round-time.ts';
import { overlap, windowAround, type DayWindow } from '../../core/schedules/window.ts';
import { RollcallError, isFromHub } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { SyncMode, Progress } from '../../model/progress.ts';
import type { AbsentStudents } from './absent-students.ts';
import { Newcomers } from './newcomers.ts';
import { parentNotOffered, type Offer, type ParentState } from '../offer.ts';
import type { SyncResult } from '../sync-result.ts';
import { asError } from '../session-error.ts';
import type { SyncOptions, SyncRunner } from '../sync-runner.ts';
import { acceptAnswer, askForStudent, type AnswerParts } from './answers.ts';
import { ScheduleApproval } from './approval.ts';
import { FailureReports } from './failure-reports.ts';
import { SCHEDULES, ScheduleSyncs, type Round, type ScheduleSyncParts } from './schedule-syncs.ts';
import { ApiTrouble } from './api-trouble.ts';

/** A student said to have lost lessons is asked for a second time after so long. */
const SECOND_ANSWER_AFTER_MS = 5 * 60_000;
const READY_POLL_MS = 500;
/** What is due is looked at again at least so often: the clock may be set. */
const LONGEST_REST_MS = 30_000;
const GONE_PAUSE_MS = 300_000;

export interface ScheduleRunnerParts extends AnswerParts, ScheduleSyncParts {
  readonly absent: AbsentStudents;
  /** The students wanted now, in the order in which they are to be asked. */
  readonly wanted: (window: DayWindow) => Promise<Set<string>>;
  /** Whose absences change is not wanted for that alone. */
  readonly onlyWanted: boolean;
  /** The collection that says which students are wanted; null for a list of ids. */
  readonly parent: CollectionName | null;
  readonly parents: () => ParentState;
  readonly offer: Offer;
  readonly size: { readonly daysBack: number; readonly daysAhead: number };
  readonly fullPull: FullPullTime;
  /** 0 to 1 */
  readonly random: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** The session's: ends the listening to changes. */
  readonly signal: AbortSignal;
}

type Waiting = PromiseWithResolvers<SyncResult>;

/**
 * Keeps `schedules`: asks for each wanted student once a round, which takes a day, and at once when an absence of the
 * student has changed. Days are published, emptied or withheld as the answers come; days that have left the window,
 * and students not wanted any more, are removed at the beginning of a round, without asking anybody.
 */
export class ScheduleRunner implements SyncRunner {
  readonly collection = SCHEDULES;
  readonly #parts: ScheduleRunnerParts;
  readonly #syncs: ScheduleSyncs;
  readonly #queue = new AskQueue();
  readonly #trouble: ApiTrouble;
  readonly #asking = new Set<Promise<void>>();
  readonly #requests: {
    readonly mode: SyncMode;
    readonly approved: ReadonlySet<string> | undefined;
    readonly done: Waiting;
  }[] = [];
  #approval: ScheduleApproval | null = null;
  /** Whoever waits for the end of the round. */
  readonly #waiting: Waiting[] = [];
  #wanted: Set<string> | null = null;
  readonly #newcomers: Newcomers;
  readonly #failures: FailureReports;
  #lastDueMs: number | null = null;
  /** What concerns the whole tenant. */
  #failure: { readonly error: unknown } | null = null;
  /** Why the hub counts as away, for whoever does not stay. */
  #away: RollcallError | null = null;
  #ended: { readonly error: unknown } | null = null;
  #isWoken = false;
  #wakeUp: () => void = () => undefined;

  constructor(parts: ScheduleRunnerParts) {
    this.#parts = parts;
    this.#syncs = new ScheduleSyncs(parts);
    this.#trouble = new ApiTrouble(parts.random);
    this.#newcomers = new Newcomers(parts.now);
    this.#failures = new FailureReports(parts, () => this.#syncs.round);
    const stop = parts.absent.onChange((students) => this.#noteChanges(students));
    parts.signal.addEventListener('abort', stop, { once: true });
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

  async discardWithheld(): Promise<void> {
    await (await this.#syncs.emptied()).discard();
  }

  request(mode: SyncMode, { approved }: SyncOptions = {}): Promise<SyncResult> {
    if (this.#ended !== null) return Promise.reject(asError(this.#ended.error));
    const done = Promise.withResolvers<SyncResult>();
    this.#requests.push({ mode, approved, done });
    this.#wake();
    return done.promise;
  }

  async loop(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        if (this.#parts.parents() === 'ready') {
          if (this.#wanted === null) await this.#listWanted(this.#window());
          if (this.#newcomers.dueInMs() <= 0) await this.#admitNewcomers();
          await this.#handleRequests();
          const plan = this.#plan();
          if (plan !== null) await this.#beginRound(plan);
          await this.#turn(signal);
        } else {
          await this.#handleWithoutParents();
          await this.#rest(this.isNotOffered ? LONGEST_REST_MS : READY_POLL_MS, signal);
        }
      }
      this.#end(signal.reason);
    } catch (error) {
      this.#end(error);
      throw error;
    } finally {
      await Promise.allSettled(this.#asking);
    }
  }

  async once(mode: SyncMode, options: SyncOptions & { readonly signal: AbortSignal }): Promise<SyncResult> {
    const { signal, approved } = options;
    if (this.#parts.parents() !== 'ready') return this.#withoutParents();
    this.#away = null;
    if (approved !== undefined) {
      const approval = await this.#approve(approved);
      await this.#turnsUntil(() => this.#approval !== approval, signal);
      return approval.result;
    }
    if (mode === 'DELTA' && this.#hasWhole) {
      if (this.#wanted === null) await this.#listWanted(this.#window());
      await this.#admitNewcomers();
      this.#syncs.beginSum();
      const nowMs = this.#parts.now();
      this.#queue.beginRound({ students: this.#queue.takeChanged(), nowMs, endMs: nowMs });
      await this.#turnsUntil(() => this.#queue.unanswered === 0 && this.#queue.inFlight === 0, signal);
      return this.#syncs.endSum();
    }
    const done = Promise.withResolvers<SyncResult>();
    done.promise.catch(() => undefined);
    this.#waiting.push(done);
    await this.#beginRound(this.#planNow());
    await this.#turnsUntil(() => this.#syncs.round === null, signal);
    return done.promise;
  }

  /** Throws what the hub failed with once it counts as away. */
  async #turnsUntil(isOver: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isOver()) {
      signal.throwIfAborted();
      await this.#turn(signal);
      if (this.#away === null) continue;
      await this.#syncs.flush({ isForced: false });
      this.#syncs.dropRound();
      throw this.#away;
    }
  }

  /** The round that is to begin; null while the one at hand goes on, or none is due. */
  #plan(): RoundPlan | null {
    const { fullPull, now, writer } = this.#parts;
    return roundDue({
      fullPull,
      nowMs: now(),
      lastDueMs: this.#lastDueMs,
      lastCompleteMs: this.#hasWhole ? (writer.progress?.lastCompleteFull?.startedAtMs ?? null) : null,
    });
  }

  /** A round has been complete, under the mapping in force: what has not changed since needs not be asked for. */
  get #hasWhole(): boolean {
    const { writer } = this.#parts;
    return !writer.isMappingNew && writer.progress?.lastCompleteFull != null;
  }

  #planNow(): RoundPlan {
    const nowMs = this.#parts.now();
    return { dueMs: lastFullPullDue(this.#parts.fullPull, nowMs), endMs: nowMs };
  }

  async #handleRequests(): Promise<void> {
    const given = this.#requests.splice(0);
    const approvals = given.filter(({ approved }) => approved !== undefined);
    const requests = given.filter(({ approved }) => approved === undefined);
    // One approval at a time; the next waits its turn.
    const next = this.#approval === null ? approvals.shift() : undefined;
    this.#requests.push(...approvals);
    if (next?.approved !== undefined) next.done.resolve((await this.#approve(next.approved)).result);
    const full = requests.filter(({ mode }) => mode === 'FULL' || !this.#hasWhole);
    if (full.length > 0) {
      this.#waiting.push(...full.map(({ done }) => done));
      await this.#beginRound(this.#planNow());
    }
    const deltas = requests.filter((request) => !full.includes(request));
    if (deltas.length === 0) return;
    // Changes are asked for at once anyway: what has come until now is what a delta has to tell.
    this.#syncs.beginSum();
    const result = await this.#syncs.endSum();
    for (const { done } of deltas) done.resolve(result);
  }

  /** Asks at once for the students of the approved days. */
  async #approve(keys: ReadonlySet<string>): Promise<ScheduleApproval> {
    const wanted = this.#wanted ?? (await this.#listWanted(this.#window()));
    (await this.#syncs.emptied()).approve(keys);
    const approval = new ScheduleApproval(keys, wanted);
    for (const student of approval.students) this.#queue.change(student);
    this.#queue.pauseUntil(0);
    this.#approval = approval;
    return approval;
  }

  async #beginRound(plan: RoundPlan): Promise<void> {
    const { now } = this.#parts;
    const left = this.#syncs.round === null ? [] : [...this.#queue.unansweredStudents()];
    await this.#syncs.flush({ isForced: false });
    this.#lastDueMs = plan.dueMs;
    const window = this.#window();
    const wanted = await this.#listWanted(window);
    await this.#syncs.flush({ isForced: false });
    this.#syncs.beginRound({ isHurried: plan.endMs <= now() });
    await this.#syncs.sweep(wanted, window);
    this.#trouble.reset(wanted);
    this.#queue.pauseUntil(0);
    // Whom the last round did not reach comes first: one that never ends would else always miss the same.
    const first = left.filter((student) => wanted.has(student));
    this.#queue.beginRound({ students: [...first, ...wanted], nowMs: now(), endMs: plan.endMs });
  }

  /** Looks anew who is wanted. Students whose absences changed are still asked for, if they are. */
  async #listWanted(window: DayWindow): Promise<ReadonlySet<string>> {
    const changedBefore = this.#queue.takeChanged();
    const wanted = await this.#parts.wanted(window);
    // Who changed while the list was made may be missing from it.
    const changedMeanwhile = this.#queue.takeChanged();
    this.#wanted = wanted;
    for (const student of changedBefore) if (wanted.has(student)) this.#queue.change(student);
    this.#noteChanges(new Set(changedMeanwhile));
    return wanted;
  }

  /** Students whose absences changed and who were not wanted: those who now are become so, and are asked. */
  async #admitNewcomers(): Promise<void> {
    const newcomers = this.#newcomers.take();
    if (newcomers.size === 0) return;
    const wanted = await this.#parts.wanted(this.#window());
    for (const student of newcomers) {
      if (!wanted.has(student)) continue;
      this.#wanted?.add(student);
      this.#queue.change(student);
    }
  }

  /** One step: asks whom it may, publishes what came, ends the round, or waits. */
  async #turn(signal: AbortSignal): Promise<void> {
    const askAtMs = this.#startAsking(signal);
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#approval?.isOver === true) {
      this.#approval.resolve(await this.#syncs.endApproval());
      this.#approval = null;
    }
    const { round } = this.#syncs;
    if (round !== null && this.#queue.unanswered === 0 && this.#queue.inFlight === 0) {
      await this.#endRound(round);
      return;
    }
    const flushInMs = this.#syncs.dueInMs(this.#asking.size);
    const askInMs = askAtMs - this.#parts.now();
    if (flushInMs <= 0) await this.#syncs.flush({ isForced: false });
    else await this.#rest(Math.min(askInMs, flushInMs, this.#newcomers.dueInMs(), LONGEST_REST_MS), signal);
  }

  async #endRound(round: Round): Promise<void> {
    await this.#syncs.flush({ isForced: false });
    if (!round.isLast) {
      round.isLast = true;
      const emptied = await this.#syncs.emptied();
      const doubtful = [...emptied.studentsToAskAgain()].filter(
        (student) => this.#wanted?.has(student) === true,
      );
      const atMs = this.#parts.now();
      for (const student of doubtful) this.#queue.askAgain(student, { atMs, isOwed: true });
      if (doubtful.length > 0) return;
    }
    const result = await this.#syncs.completeRound(round);
    await this.#parts.offer.noteOffered();
    for (const done of this.#waiting.splice(0)) done.resolve(result);
  }

  /** Asks for as many as may be under way; returns when the next may be asked. */
  #startAsking(signal: AbortSignal): number {
    const { api, now } = this.#parts;
    while (this.#asking.size < api.concurrency) {
      const next = this.#queue.next(now());
      if (next.kind === 'wait') return next.untilMs;
      const asking = this.#ask(next.student, signal).finally(() => {
        this.#asking.delete(asking);
        this.#wake();
      });
      this.#asking.add(asking);
    }
    return Number.POSITIVE_INFINITY;
  }

  async #ask(student: string, signal: AbortSignal): Promise<void> {
    const { now, emit } = this.#parts;
    const { round } = this.#syncs;
    const window = this.#window();
    const approval = this.#approval;
    try {
      const answer = await askForStudent(this.#parts, { student, window, signal });
      if (answer.hubTimeMs !== null) this.#syncs.noteHubTime(answer.hubTimeMs);
      const wantsSecond = await acceptAnswer(this.#parts, answer, {
        student,
        // The day may have ended while the hub answered.
        window: overlap(window, this.#window()),
        emptied: await this.#syncs.emptied(),
        isLast: round !== null && round === this.#syncs.round && round.isLast,
        isWanted: () => this.#wanted?.has(student) !== false,
        sync: () => this.#syncs.currentSync(),
        onTally: ({ stats }, tally) => emit({ type: 'pass-page', collection: SCHEDULES, stats, tally }),
      });
      this.#syncs.noteAnswer();
      this.#trouble.answered(student);
      this.#queue.answered(student);
      approval?.settled(student);
      this.#away = null;
      await this.#parts.offer.noteOffered();
      if (wantsSecond === true) {
        this.#queue.askAgain(student, { atMs: now() + SECOND_ANSWER_AFTER_MS, isOwed: false });
      }
    } catch (error) {
      if (!signal.aborted && isFromHub(error)) {
        await this.#noteTrouble(student, error, round).catch((failure: unknown) => {
          this.#failure ??= { error: failure };
        });
      } else {
        this.#failure ??= { error };
        this.#queue.failed(student, now());
      }
    }
  }

  /** `round`: the one under way when the student was asked for. */
  async #noteTrouble(student: string, error: RollcallError, round: Round | null): Promise<void> {
    const { now, reader, writer, fullPull } = this.#parts;
    const verdict = this.#trouble.failed(student, error, this.#wanted?.size ?? 1);
    if (verdict.kind === 'give-up') {
      // Like a row that cannot be read: what is known of the student stays.
      const reading = reader.rejectStudent(student, verdict.reason);
      await writer.accept(this.#syncs.currentSync(), {
        readings: [reading],
        readVersion: writer.readVersion(),
      });
      this.#syncs.noteAnswer();
      this.#queue.answered(student);
      this.#approval?.settled(student);
      return;
    }
    if (verdict.kind === 'not-offered') {
      this.#queue.failed(student, now());
      // An answer to a round that was given up says nothing against the next one, which was begun since.
      if (this.#syncs.round !== round) return;
      // Where lessons are known, a 404 is a gateway's bad minute like any other. Where none are, nobody may have been
      // absent until now: then the API may be there tomorrow, or in a minute.
      const isNotOffered = writer.knownRows === 0;
      const isFirst = isNotOffered && writer.progress?.lastCompleteFull == null;
      const untilMs = isFirst ? nextDue(fullPull, lastFullPullDue(fullPull, now())) : now() + GONE_PAUSE_MS;
      this.#queue.pauseUntil(untilMs);
      if (isNotOffered) await this.#failures.reportNotOffered(error);
      else this.#failures.report(error, untilMs - now());
      // Another student's answer may have ended the round meanwhile: the next one is to be tried.
      if (this.#syncs.round === round) this.#giveUp(error);
      return;
    }
    this.#queue.failed(student, now() + verdict.retryMs);
    const { pause } = verdict;
    if (pause === null) return;
    if (pause.canary !== null) this.#queue.askAgain(pause.canary, { atMs: now(), isOwed: false });
    this.#queue.pauseUntil(now() + pause.ms);
    this.#failures.report(error, pause.ms);
    if (this.#trouble.isAway) this.#giveUp(error);
  }

  async #handleWithoutParents(): Promise<void> {
    const requests = this.#requests.splice(0);
    if (requests.length === 0 && this.isNotOffered) return;
    try {
      const result = await this.#withoutParents();
      for (const { done } of requests) done.resolve(result);
    } catch (error) {
      for (const { done } of requests) done.reject(asError(error));
      if (!(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED') throw error;
    }
  }

  /** Throws when the hub does not offer the collection that says which students are wanted. */
  async #withoutParents(): Promise<SyncResult> {
    const { parent, parents } = this.#parts;
    if (parent === null || parents() !== 'not-offered') return this.#notReady();
    const error = parentNotOffered(SCHEDULES, parent);
    await this.#failures.reportNotOffered(error);
    throw error;
  }

  #noteChanges(students: ReadonlySet<string>): void {
    for (const student of students) {
      // Before it is known who is wanted, everybody is kept: the list that is to be made tells.
      if (this.#wanted === null || this.#wanted.has(student)) this.#queue.change(student);
      // An absence of last spring that is corrected makes nobody wanted; who is, is looked up for many at once.
      else if (!this.#parts.onlyWanted) this.#newcomers.note(student);
    }
    this.#wake();
  }

  #window(): DayWindow {
    const { now, fullPull, size } = this.#parts;
    return windowAround(localDate(now(), fullPull.timeZone), size);
  }

  #notReady(): SyncResult {
    const { stats } = this.#syncs.newSync('FULL');
    const why = 'the collection that tells whose schedules are wanted has not been read whole yet';
    return { kind: 'suspect', stats, why, withheld: 0 };
  }

  /** Nobody need wait for what may take long; the round itself goes on once the hub is back. */
  #giveUp(error: RollcallError): void {
    this.#away = error;
    this.#dropApproval(error);
    for (const done of this.#waiting.splice(0)) done.reject(error);
  }

  #dropApproval(error: unknown): void {
    this.#approval?.reject(asError(error));
    this.#approval = null;
    this.#syncs.dropApproval();
  }

  #end(error: unknown): void {
    this.#ended = { error };
    this.#dropApproval(error);
    for (const { done } of this.#requests.splice(0)) done.reject(asError(error));
    for (const done of this.#waiting.splice(0)) done.reject(asError(error));
  }

  #wake(): void {
    this.#isWoken = true;
    this.#wakeUp();
  }

  /** Sleeps until something happens. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && ms > 0) {
      const woken = new AbortController();
      this.#wakeUp = () => woken.abort();
      await this.#parts.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
    }
    this.#isWoken = false;
  }
}

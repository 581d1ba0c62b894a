import { AskQueue } from '../core/schedules/ask-queue.ts';
import { nextDue, roundDue, type RoundPlan } from '../core/schedules/round-time.ts';
import { isInWindow, windowAround, type DayWindow } from '../core/schedules/window.ts';
import { lastFullPullDue, localDate, type FullPullTime } from '../core/full-pull-time.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { PassMode } from '../model/progress.ts';
import type { AbsentStudents } from './absent-students.ts';
import type { ActivePass } from './active-pass.ts';
import type { Emit } from './events.ts';
import type { PassResult } from './pass.ts';
import type { PassRunner } from './pass-runner.ts';
import { newPassStats, type PassStats } from './pass-stats.ts';
import { acceptAnswer, askForStudent, type AnswerParts } from './schedule-answers.ts';
import { ScheduleLosses, type ScheduleLossParts } from './schedule-losses.ts';
import { ScheduleTrouble } from './schedule-trouble.ts';

const COLLECTION = 'schedules' as const satisfies CollectionName;
/** A student said to have lost lessons is asked for a second time after so long. */
const SECOND_ANSWER_AFTER_MS = 5 * 60_000;
/** While answers keep coming, transactions are no more frequent than this. */
const FLUSH_EVERY_MS = 1_000;
const READY_POLL_MS = 500;
/** What is due is looked at again at least so often: the clock may be set. */
const LONGEST_REST_MS = 30_000;
const LONGEST_PAUSE_MS = 300_000;

export interface ScheduleRunnerParts extends AnswerParts {
  readonly losses: ScheduleLossParts;
  readonly absent: AbsentStudents;
  /** The students wanted now, in the order in which they are to be asked. */
  readonly wanted: (window: DayWindow) => Promise<Set<string>>;
  /** Whose changed absences are none of ours: asked only once they are wanted. */
  readonly onlyWanted: boolean;
  /** Whether the list of students comes from other collections, and whether these have been read whole. */
  readonly hasParents: boolean;
  readonly isReady: () => boolean;
  readonly size: { readonly daysBack: number; readonly daysAhead: number };
  readonly fullPull: FullPullTime;
  readonly deltaEveryMs: number;
  readonly now: () => number;
  /** 0 to 1 */
  readonly random: () => number;
  readonly randomId: () => string;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly emit: Emit;
}

interface Round {
  readonly pass: ActivePass;
  readonly startedAtMs: number;
  /** As fast as may be, and told as one full pass. */
  readonly isHurried: boolean;
  /** All have been asked; those with doubtful answers are asked once more. */
  isLast: boolean;
  removedInBatches: number;
  /** Whoever waits for its end. */
  readonly demands: PromiseWithResolvers<PassResult>[];
}

/** A delta: students asked again, or one after the other over the day. */
interface Batch {
  readonly pass: ActivePass;
  readonly startedAtMs: number;
}

/**
 * Keeps `schedules`: asks for each wanted student once a round, which takes a day, and at once when an absence of the
 * student has changed. Days are published, emptied or withheld as the answers come; days that have left the window,
 * and students not wanted any more, are removed at the beginning of a round, without asking anybody.
 */
export class ScheduleRunner implements PassRunner {
  readonly collection = COLLECTION;
  readonly #parts: ScheduleRunnerParts;
  readonly #queue = new AskQueue();
  readonly #trouble: ScheduleTrouble;
  readonly #asking = new Set<Promise<void>>();
  readonly #demands: { readonly mode: PassMode; readonly done: PromiseWithResolvers<PassResult> }[] = [];
  #losses: ScheduleLosses | null = null;
  #wanted: Set<string> = new Set();
  #round: Round | null = null;
  #batch: Batch | null = null;
  #lastDueMs: number | null = null;
  #flushedAtMs = 0;
  #answersToTell = 0;
  #toldAtMs = 0;
  #skewMs = 0;
  /** What several deltas came to, for whoever asked for one. */
  #sum: PassStats | null = null;
  #notOffered = false;
  #failure: { readonly error: unknown } | null = null;
  /** Why the hub counts as away, for whoever does not stay. */
  #away: unknown = null;
  #ended: { readonly error: unknown } | null = null;
  #isWoken = false;
  #wakeUp: () => void = () => undefined;

  constructor(parts: ScheduleRunnerParts) {
    this.#parts = parts;
    this.#trouble = new ScheduleTrouble(parts.random);
  }

  get isNotOffered(): boolean {
    return this.#notOffered;
  }

  get hasParents(): boolean {
    return this.#parts.hasParents;
  }

  demand(mode: PassMode): Promise<PassResult> {
    if (this.#ended !== null) return Promise.reject(asError(this.#ended.error));
    const done = Promise.withResolvers<PassResult>();
    this.#demands.push({ mode, done });
    this.#wake();
    return done.promise;
  }

  async loop(signal: AbortSignal): Promise<void> {
    const stop = this.#parts.absent.onChange((students) => this.#noteChanges(students));
    try {
      while (!signal.aborted) {
        if (!this.#parts.isReady()) {
          for (const { done } of this.#demands.splice(0)) done.resolve(this.#notReady());
          await this.#rest(READY_POLL_MS, signal);
          continue;
        }
        if (this.#round === null && this.#lastDueMs === null)
          this.#wanted = await this.#parts.wanted(this.#window());
        await this.#begin(this.#plan());
        await this.#turn(signal);
      }
      this.#end(signal.reason);
    } catch (error) {
      this.#end(error);
      throw error;
    } finally {
      stop();
      await Promise.allSettled(this.#asking);
    }
  }

  async once(mode: PassMode, { signal }: { readonly signal: AbortSignal }): Promise<PassResult> {
    if (!this.#parts.isReady()) return this.#notReady();
    const done = Promise.withResolvers<PassResult>();
    done.promise.catch(() => undefined);
    const isFull = mode === 'FULL' || this.#parts.writer.progress?.lastCompleteFull == null;
    if (isFull) this.#demands.push({ mode: 'FULL', done });
    const isOver = (): boolean =>
      isFull ? this.#round === null : !this.#queue.hasChanged && this.#queue.inFlight === 0;
    this.#away = null;
    this.#sum = isFull ? null : this.#newPass('DELTA').stats;
    if (isFull) await this.#begin(null);
    while (!isOver()) {
      signal.throwIfAborted();
      await this.#turn(signal);
      if (this.#away !== null) {
        await this.#flush({ isForced: false });
        this.#dropRound();
        throw asError(this.#away);
      }
    }
    if (isFull) return done.promise;
    await this.#flush({ isForced: true });
    const stats = this.#sum ?? this.#newPass('DELTA').stats;
    return { kind: 'complete', stats, withheld: stats.rowsWithheld, wantsSecondPass: false };
  }

  /** The round that is to begin; null while the one at hand goes on. */
  #plan(): RoundPlan | null {
    const { fullPull, now, writer } = this.#parts;
    return roundDue({
      fullPull,
      nowMs: now(),
      lastDueMs: this.#lastDueMs,
      lastCompleteMs: writer.progress?.lastCompleteFull?.startedAtMs ?? null,
    });
  }

  /** One step: asks whom it may, publishes what came, ends the round, or waits. */
  async #turn(signal: AbortSignal): Promise<void> {
    const askAtMs = this.#startAsking(signal);
    if (this.#failure !== null) throw this.#failure.error;
    const round = this.#round;
    if (round !== null && this.#queue.unanswered === 0 && this.#queue.inFlight === 0) {
      await this.#endRound(round);
      return;
    }
    if (this.#isFlushDue()) {
      await this.#flush({ isForced: false });
      return;
    }
    const restMs = Math.min(askAtMs - this.#parts.now(), this.#mayFlushInMs(), LONGEST_REST_MS);
    await this.#rest(restMs, signal);
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
    const { now } = this.#parts;
    const round = this.#round;
    const window = this.#window();
    try {
      const answer = await askForStudent(this.#parts, { student, window, signal });
      if (answer.hubTimeMs !== null) this.#skewMs = answer.hubTimeMs - now();
      const wantsSecond = await acceptAnswer(this.#parts, answer, {
        student,
        window,
        losses: await this.#openLosses(),
        isLast: round !== null && round === this.#round && round.isLast,
        isWanted: () => this.#wanted.has(student),
        pass: () => this.#passNow(),
        onTally: (pass, tally) =>
          this.#parts.emit({ type: 'pass-page', collection: COLLECTION, stats: pass.stats, tally }),
      });
      this.#trouble.answered(student);
      this.#queue.answered(student);
      this.#notOffered = false;
      this.#away = null;
      this.#answersToTell += 1;
      if (wantsSecond === true) {
        this.#queue.askAgain(student, { atMs: now() + SECOND_ANSWER_AFTER_MS, isOwed: false });
      }
    } catch (error) {
      if (signal.aborted || concernsTenant(error)) {
        this.#failure ??= { error };
        this.#queue.failed(student, now());
      } else {
        await this.#noteTrouble(student, error as RollcallError);
      }
    }
  }

  async #noteTrouble(student: string, error: RollcallError): Promise<void> {
    const { now, reader, writer, emit, fullPull } = this.#parts;
    const verdict = this.#trouble.failed(student, error, this.#wanted.size);
    const mode: PassMode = this.#round?.isHurried === true ? 'FULL' : 'DELTA';
    const startedAtMs = this.#round?.startedAtMs ?? now();
    const failed = { collection: COLLECTION, error, mode, durationMs: now() - startedAtMs };
    switch (verdict.kind) {
      case 'give-up': {
        // Like a row that cannot be read: what is known of the student stays.
        const pass = this.#passNow();
        const reading = reader.rejectStudent(student, verdict.reason);
        await writer.accept(pass, { readings: [reading], stamp: writer.stamp() });
        this.#queue.answered(student);
        return;
      }
      case 'not-offered': {
        this.#queue.failed(student, now());
        const isUnknown = writer.knownRows === 0 && writer.progress?.lastCompleteFull == null;
        const untilMs = isUnknown
          ? nextDue(fullPull, lastFullPullDue(fullPull, now()))
          : now() + LONGEST_PAUSE_MS;
        this.#queue.pauseUntil(untilMs);
        if (isUnknown) emit({ type: 'not-offered', ...failed, isNews: !this.#notOffered });
        else emit({ type: 'pass-failed', ...failed, retryInMs: LONGEST_PAUSE_MS });
        this.#notOffered = isUnknown;
        this.#giveUp(error);
        return;
      }
      case 'again':
        this.#queue.failed(student, now() + verdict.retryMs);
        if (verdict.pauseMs === null) return;
        this.#queue.pauseUntil(now() + verdict.pauseMs);
        emit({ type: 'pass-failed', ...failed, retryInMs: verdict.pauseMs });
        if (this.#trouble.isAway) this.#giveUp(error);
    }
  }

  /** Begins what was demanded or is due. */
  async #begin(plan: RoundPlan | null): Promise<void> {
    const { now, fullPull, writer } = this.#parts;
    const demands = this.#demands.splice(0);
    const isKnown = writer.progress?.lastCompleteFull != null;
    const full = demands.filter(({ mode }) => mode === 'FULL' || !isKnown).map(({ done }) => done);
    const dueMs = lastFullPullDue(fullPull, now());
    if (full.length > 0) await this.#beginRound({ dueMs, endMs: now() }, full);
    else if (plan !== null) await this.#beginRound(plan, []);
    const deltas = demands.filter(({ mode }) => mode === 'DELTA' && isKnown);
    if (deltas.length === 0) return;
    // Changes are asked for at once anyway: what came until now is what a delta has to tell.
    const { stats } = this.#openBatch().pass;
    await this.#flush({ isForced: true });
    const { rowsWithheld: withheld } = stats;
    for (const { done } of deltas)
      done.resolve({ kind: 'complete', stats, withheld, wantsSecondPass: false });
  }

  async #beginRound(plan: RoundPlan, demands: PromiseWithResolvers<PassResult>[]): Promise<void> {
    const { now, writer, emit, wanted } = this.#parts;
    const startedAtMs = now();
    const demanded = [...(this.#round?.demands ?? []), ...demands];
    const unanswered = this.#round === null ? [] : [...this.#queue.unansweredStudents()];
    await this.#flush({ isForced: false });
    this.#dropRound();
    this.#lastDueMs = plan.dueMs;
    const changedBefore = this.#queue.takeChanged();
    const window = this.#window();
    const students = await wanted(window);
    // Who changed while the list was made may be missing from it.
    const changedMeanwhile = this.#queue.takeChanged();
    if (!this.#parts.onlyWanted) for (const student of changedMeanwhile) students.add(student);
    this.#wanted = students;
    const isHurried = plan.endMs <= startedAtMs;
    const pass = this.#newPass('FULL');
    this.#round = { pass, startedAtMs, isHurried, isLast: false, removedInBatches: 0, demands: demanded };
    writer.begin(pass);
    emit({ type: 'pass-started', collection: COLLECTION, mode: 'FULL' });
    await this.#sweep(window);
    this.#trouble.reset();
    this.#queue.pauseUntil(0);
    // Whom the last round did not reach comes first: else one that never ends would always miss the same.
    const first = unanswered.filter((student) => students.has(student));
    this.#queue.beginRound({ students: [...first, ...students], nowMs: now(), endMs: plan.endMs });
    for (const student of [...changedBefore, ...changedMeanwhile])
      if (students.has(student)) this.#queue.change(student);
  }

  /** Removes what left the window, and students not wanted: our own decision, so neither asked for nor guarded. */
  async #sweep(window: DayWindow): Promise<void> {
    const { writer } = this.#parts;
    const losses = await this.#openLosses();
    const isOver = (key: string): boolean => {
      const parts = splitCompositeKey(key);
      if (parts === null || !this.#wanted.has(parts[0])) return true;
      return parts[1] !== '*' && !isInWindow(parts[1], window);
    };
    for (const area of ['rows', 'rejects'] as const) {
      const known = area === 'rows' ? writer.knownRows : writer.knownRejects;
      for (let left = known; left > 0;) {
        const { keys, count } = await writer.find(area, isOver);
        losses.forget(keys);
        await writer.remove(this.#passNow(), area, keys);
        await this.#flush({ isForced: false });
        left = count - keys.length;
      }
    }
  }

  async #endRound(round: Round): Promise<void> {
    const { writer, emit, now } = this.#parts;
    const losses = await this.#openLosses();
    await this.#flush({ isForced: false });
    if (!round.isLast) {
      round.isLast = true;
      const doubtful = [...losses.studentsToAskAgain()].filter((student) => this.#wanted.has(student));
      for (const student of doubtful) this.#queue.askAgain(student, { atMs: now(), isOwed: true });
      if (doubtful.length > 0) return;
    }
    const { stats } = round.pass;
    stats.startedAtMs = round.startedAtMs + this.#skewMs;
    stats.rowsWithheld = losses.withheldCount;
    await writer.flush(round.pass, {
      watermarkMs: stats.startedAtMs,
      lastCompleteFull: {
        passId: stats.passId,
        startedAtMs: stats.startedAtMs,
        rows: writer.knownRows,
        rowsRejected: writer.knownRejects,
        rowsWithheld: stats.rowsWithheld,
      },
    });
    await losses.remember({ isRoundOver: true });
    this.#toldAtMs = now();
    this.#emitEnd(round.pass, { startedAtMs: round.startedAtMs, alreadyTold: round.removedInBatches });
    const { rowsWithheld: withheld } = stats;
    for (const done of round.demands.splice(0)) {
      done.resolve({ kind: 'complete', stats, withheld, wantsSecondPass: false });
    }
    this.#dropRound();
  }

  #dropRound(): void {
    if (this.#round !== null) this.#parts.writer.end(this.#round.pass);
    this.#round = null;
  }

  /** What an answer counts to: a hurried round as a whole, or else the students asked lately. */
  #passNow(): ActivePass {
    const isWhole =
      this.#round !== null &&
      (this.#round.isHurried || this.#parts.writer.progress?.lastCompleteFull == null);
    return isWhole && this.#round !== null ? this.#round.pass : this.#openBatch().pass;
  }

  #openBatch(): Batch {
    if (this.#batch === null) {
      const pass = this.#newPass('DELTA');
      this.#parts.writer.begin(pass);
      this.#batch = { pass, startedAtMs: this.#parts.now() };
      this.#parts.emit({ type: 'pass-started', collection: COLLECTION, mode: 'DELTA' });
    }
    return this.#batch;
  }

  #newPass(mode: PassMode): ActivePass {
    const { now, randomId, writer } = this.#parts;
    const stats = newPassStats({ passId: randomId(), mode, startedAtMs: now() + this.#skewMs });
    return { stats, seen: null, seenByOthers: null, seenRejects: null, stamp: writer.stamp() };
  }

  #isFlushDue(): boolean {
    return this.#mayFlushInMs() <= 0;
  }

  /** In how many ms there is something to commit, if no more answers come. */
  #mayFlushInMs(): number {
    const { writer, deltaEveryMs, now } = this.#parts;
    if (writer.isFull) return 0;
    if (writer.hasPending) return this.#asking.size === 0 ? 0 : this.#flushedAtMs + FLUSH_EVERY_MS - now();
    // Without changes, that they were asked for is told from time to time.
    return this.#answersToTell > 0 ? this.#toldAtMs + deltaEveryMs - now() : Number.POSITIVE_INFINITY;
  }

  /** Commits what waits, and that students were asked. `isForced`: a record of progress in any case. */
  async #flush({ isForced }: { isForced: boolean }): Promise<void> {
    const { writer, now } = this.#parts;
    if (!isForced && this.#answersToTell === 0 && !writer.hasPending) return;
    const losses = await this.#openLosses();
    const pass = this.#passNow();
    // What comes from here on belongs to the next batch.
    const batch = this.#batch;
    this.#batch = null;
    this.#answersToTell = 0;
    this.#flushedAtMs = now();
    await losses.settle(pass);
    pass.stats.rowsWithheld = losses.withheldCount;
    const { progress } = writer;
    const isWhole = batch !== null && progress?.lastCompleteFull != null;
    const completion = { watermarkMs: progress?.watermarkMs ?? 0, lastCompleteFull: null };
    await writer.flush(pass, isWhole ? completion : 'incomplete');
    this.#toldAtMs = now();
    await losses.remember({ isRoundOver: false });
    if (batch === null) return;
    writer.end(batch.pass);
    this.#emitEnd(batch.pass, { startedAtMs: batch.startedAtMs, alreadyTold: 0 });
    if (this.#round !== null) addStats(this.#round, batch.pass.stats);
    if (this.#sum !== null) addNumbers(this.#sum, batch.pass.stats);
  }

  /** `alreadyTold`: removals that the ends of deltas have told. */
  #emitEnd({ stats }: ActivePass, pass: { startedAtMs: number; alreadyTold: number }): void {
    const { emit, now, writer } = this.#parts;
    emit({
      type: 'pass-ended',
      collection: COLLECTION,
      outcome: 'complete',
      why: null,
      stats: { ...stats, rowsRemoved: stats.rowsRemoved - pass.alreadyTold },
      durationMs: now() - pass.startedAtMs,
      rows: writer.knownRows,
      rejects: writer.knownRejects,
      progress: writer.progress,
    });
  }

  #noteChanges(students: ReadonlySet<string>): void {
    for (const student of students) {
      if (this.#parts.onlyWanted && !this.#wanted.has(student)) continue;
      this.#wanted.add(student);
      this.#queue.change(student);
    }
    this.#wake();
  }

  #window(): DayWindow {
    const { now, fullPull, size } = this.#parts;
    return windowAround(localDate(now(), fullPull.timeZone), size);
  }

  async #openLosses(): Promise<ScheduleLosses> {
    this.#losses ??= await ScheduleLosses.open(this.#parts.losses);
    return this.#losses;
  }

  #notReady(): PassResult {
    const { stats } = this.#newPass('FULL');
    const why = 'the collection that tells whose schedules are wanted has not been read whole yet';
    return { kind: 'suspect', stats, why, withheld: 0 };
  }

  #giveUp(error: unknown): void {
    this.#away = error;
    this.#rejectDemands(error);
  }

  #rejectDemands(error: unknown): void {
    for (const done of this.#round?.demands.splice(0) ?? []) done.reject(asError(error));
  }

  #end(error: unknown): void {
    this.#ended = { error };
    this.#rejectDemands(error);
    for (const { done } of this.#demands.splice(0)) done.reject(asError(error));
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

/** A round tells what came in its deltas as well. */
function addStats(round: Round, batch: PassStats): void {
  round.removedInBatches += batch.rowsRemoved;
  addNumbers(round.pass.stats, batch);
}

function addNumbers(round: PassStats, batch: PassStats): void {
  round.rowsRemoved += batch.rowsRemoved;
  round.rowsSeen += batch.rowsSeen;
  round.rowsUnchanged += batch.rowsUnchanged;
  round.rowsOvertaken += batch.rowsOvertaken;
  round.rowsCreated += batch.rowsCreated;
  round.rowsUpdated += batch.rowsUpdated;
  round.rowsRejected += batch.rowsRejected;
}

/** Whether an error says something about the log or the index, which all collections of the tenant share. */
function concernsTenant(error: unknown): boolean {
  return !(error instanceof RollcallError) || !error.code.startsWith('HUB_');
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the session ended');
}

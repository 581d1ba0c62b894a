import { lastFullPullDue, type FullPullTime } from '../../core/full-pull-time.ts';
import type { AskQueue } from '../../core/schedules/ask-queue.ts';
import { nextDue } from '../../core/schedules/round-time.ts';
import { overlap } from '../../core/lessons/window.ts';
import { RollcallError } from '../../errors.ts';
import type { Emit } from '../../core/pipeline-events.ts';
import type { Offer } from '../../timetable/offer.ts';
import type { Waker } from '../../timetable/waker.ts';
import { acceptAnswer, askForStudent, type AnswerParts } from './answers.ts';
import { ApiTrouble } from './api-trouble.ts';
import { FailureReports } from './failure-reports.ts';
import { SCHEDULES, type Round, type ScheduleSyncs } from './schedule-syncs.ts';
import type { WaitingRequests } from './waiting-requests.ts';
import type { WantedList } from './wanted-list.ts';

const GONE_PAUSE_MS = 300_000;

export interface AskingParts extends AnswerParts {
  readonly offer: Offer;
  readonly fullPull: FullPullTime;
  readonly now: () => number;
  /** Returns 0 to 1. */
  readonly random: () => number;
  readonly emit: Emit;
}

interface AskingFor {
  readonly queue: AskQueue;
  readonly wanted: WantedList;
  readonly syncs: ScheduleSyncs;
  readonly requests: WaitingRequests;
  /** Woken after each handled answer. */
  readonly waker: Waker;
}

/** Asks the hub for students as their turn comes, several at a time, and handles answers and failures. */
export class Asking {
  readonly #parts: AskingParts;
  readonly #for: AskingFor;
  readonly #trouble: ApiTrouble;
  readonly #reports: FailureReports;
  readonly #underWay = new Set<Promise<void>>();
  /** An error that ends the tenant's session. */
  #failure: { readonly error: unknown } | null = null;
  #away: RollcallError | null = null;

  constructor(parts: AskingParts, askingFor: AskingFor) {
    this.#parts = parts;
    this.#for = askingFor;
    this.#trouble = new ApiTrouble(parts.random);
    this.#reports = new FailureReports(parts, askingFor.syncs);
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Why the hub counts as away, for a command that does not wait for it; null if it does not. */
  get away(): RollcallError | null {
    return this.#away;
  }

  forgetAway(): void {
    this.#away = null;
  }

  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** A round begins: every student is tried again. */
  reset(wanted: ReadonlySet<string>): void {
    this.#trouble.reset(wanted);
    this.#for.queue.pauseUntil(0);
  }

  async ended(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  reportNotOffered(error: RollcallError): Promise<void> {
    return this.#reports.reportNotOffered(error);
  }

  /** Sends as many requests as may be under way. Returns when the next may be sent (ms since the epoch). */
  start(signal: AbortSignal): number {
    const { api, now } = this.#parts;
    while (this.#underWay.size < api.concurrency) {
      const next = this.#for.queue.next(now());
      if (next.kind === 'wait') return next.untilMs;
      const asking = this.#ask(next.student, signal).finally(() => {
        this.#underWay.delete(asking);
        this.#for.waker.wake();
      });
      this.#underWay.add(asking);
    }
    return Number.POSITIVE_INFINITY;
  }

  async #ask(student: string, signal: AbortSignal): Promise<void> {
    const { now } = this.#parts;
    const { queue, syncs } = this.#for;
    const { round } = syncs;
    try {
      await this.#askAndAccept(student, signal);
      syncs.noteAnswer(student);
      this.#trouble.answered(student);
      queue.answered(student);
      this.#away = null;
      await this.#parts.offer.noteOffered();
    } catch (error) {
      if (!signal.aborted && error instanceof RollcallError && error.code.startsWith('HUB_')) {
        await this.#noteTrouble(student, error, round).catch((failure: unknown) => {
          this.#failure ??= { error: failure };
        });
      } else {
        this.#failure ??= { error };
        queue.failed(student, now());
      }
    }
  }

  async #askAndAccept(student: string, signal: AbortSignal): Promise<void> {
    const { wanted, syncs } = this.#for;
    const window = wanted.window();
    const answer = await askForStudent(this.#parts, { student, window, signal });
    if (answer.hubTimeMs !== null) syncs.noteHubTime(answer.hubTimeMs);
    await acceptAnswer(this.#parts, answer, {
      student,
      // The day may have ended while the hub answered.
      window: overlap(window, wanted.window()),
      empty: syncs.empty,
      isWanted: () => !wanted.lacks(student),
      sync: () => syncs.currentSync(),
      onTally: ({ stats }, tally) =>
        this.#parts.emit({ type: 'pass-page', collection: SCHEDULES, stats, tally }),
    });
  }

  /** `round`: the round under way when the request was sent. */
  async #noteTrouble(student: string, error: RollcallError, round: Round | null): Promise<void> {
    const { now } = this.#parts;
    const { queue, wanted } = this.#for;
    const verdict = this.#trouble.failed(student, error, wanted.size);
    if (verdict.kind === 'give-up') return this.#giveUpStudent(student, verdict.reason);
    if (verdict.kind === 'not-offered') {
      queue.failed(student, now());
      return this.#noteNotOffered(error, round);
    }
    queue.failed(student, now() + verdict.retryMs);
    const { pause } = verdict;
    if (pause === null) return;
    if (pause.canary !== null) queue.askAgain(pause.canary, { atMs: now(), isOwed: false });
    queue.pauseUntil(now() + pause.ms);
    this.#reports.report(error, pause.ms);
    if (this.#trouble.isAway) this.#giveUp(error);
  }

  /** Publishes a reject, as for a row that cannot be decoded. The student's published days stay. */
  async #giveUpStudent(student: string, reason: string): Promise<void> {
    const { reader, writer } = this.#parts;
    const { queue, syncs } = this.#for;
    const row = reader.rejectStudent(student, reason);
    await writer.accept(syncs.currentSync(), { rows: [row], readVersion: writer.readVersion() });
    syncs.noteAnswer(null);
    queue.answered(student);
  }

  async #noteNotOffered(error: RollcallError, round: Round | null): Promise<void> {
    const { now, writer, fullPull } = this.#parts;
    const { queue, syncs } = this.#for;
    // A late answer to a round that was given up proves nothing about the next round.
    if (syncs.round !== round) return;
    // If lessons are published, a 404 is a passing fault. If none are, perhaps no student has been absent yet, and the
    // API may appear tomorrow or in a minute.
    const isNotOffered = writer.known.rows === 0;
    const isFirst = isNotOffered && writer.progress?.lastCompleteFull == null;
    const untilMs = isFirst ? nextDue(fullPull, lastFullPullDue(fullPull, now())) : now() + GONE_PAUSE_MS;
    queue.pauseUntil(untilMs);
    if (isNotOffered) await this.#reports.reportNotOffered(error);
    else this.#reports.report(error, untilMs - now());
    // If another student's answer ended the round meanwhile, the next round is tried.
    if (syncs.round === round) this.#giveUp(error);
  }

  /** Ends what waits for the hub. The round itself continues when the hub is back. */
  #giveUp(error: RollcallError): void {
    this.#away = error;
    this.#for.requests.giveUp(error);
  }
}

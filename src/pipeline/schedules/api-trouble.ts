import { HubError } from '../../hub/hub-error.ts';
import { RollcallError } from '../../errors.ts';
import { jitteredPauseMs, pauseMs, type Backoff } from '../../retry-policy.ts';

/** A student is given up for a round after so many failed requests between which others were answered. */
const MOST_ATTEMPTS = 3;
const RETRIES: Backoff = { firstMs: 1_000, longestMs: 300_000 };
/** So many students in a row who are not there, before anybody was: then it is the API that is not there. */
const NOT_OFFERED_AFTER = 10;
/** Failures in a row after which the hub is spared, and after which it counts as away. */
const PAUSE_AFTER = 2;
const AWAY_AFTER = 6;
const PAUSES: Backoff = { firstMs: 1_000, longestMs: 300_000 };

/** What a failed request leads to. */
export type TroubleVerdict =
  | { readonly kind: 'again'; readonly retryMs: number; readonly pause: Pause | null }
  /** Others are answered, this one is not: its request is at fault. */
  | { readonly kind: 'give-up'; readonly reason: string }
  | { readonly kind: 'not-offered' };

/** Nobody is asked meanwhile. */
export interface Pause {
  readonly ms: number;
  /** A student who was answered, to be asked first: tells an API in trouble from students without an answer. */
  readonly canary: string | null;
}

/** Tells a Core API in trouble from a student whom it cannot answer for. */
export class ApiTrouble {
  readonly #random: () => number;
  readonly #attempts = new Map<string, { count: number; answersBefore: number }>();
  readonly #notFound = new Set<string>();
  #answers = 0;
  #inARow = 0;
  #lastAnswered: string | null = null;

  /** `random`: 0 to 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Nobody is answered, nor who was before: of many under way at a time, many may have no answer of their own. */
  get isAway(): boolean {
    const canary = this.#lastAnswered;
    return this.#inARow >= AWAY_AFTER && (canary === null || this.#attempts.has(canary));
  }

  answered(student: string): void {
    this.#attempts.delete(student);
    this.#notFound.clear();
    this.#answers += 1;
    this.#inARow = 0;
    this.#lastAnswered = student;
  }

  /** Everybody is to be tried anew. */
  reset(wanted: ReadonlySet<string>): void {
    if (this.#lastAnswered !== null && !wanted.has(this.#lastAnswered)) this.#lastAnswered = null;
    this.#attempts.clear();
    this.#notFound.clear();
    this.#inARow = 0;
  }

  /** `wanted`: how many students there are in all. */
  failed(student: string, error: RollcallError, wanted: number): TroubleVerdict {
    const attempts = this.#attempts.get(student) ?? { count: 0, answersBefore: 0 };
    this.#attempts.set(student, attempts);
    // Where nobody is answered, it is not the student.
    if (isAboutRequest(error) && this.#answers > attempts.answersBefore) {
      attempts.count += 1;
      attempts.answersBefore = this.#answers;
    }
    this.#inARow += 1;
    if (error.code === 'HUB_NOT_OFFERED') this.#notFound.add(student);
    if (this.#answers === 0 && this.#notFound.size >= Math.min(NOT_OFFERED_AFTER, wanted)) {
      return { kind: 'not-offered' };
    }
    if (attempts.count >= MOST_ATTEMPTS) {
      this.#attempts.delete(student);
      return { kind: 'give-up', reason: reasonOf(error) };
    }
    const retryMs = pauseMs(RETRIES, Math.max(1, attempts.count));
    return { kind: 'again', retryMs, pause: this.#pause(error) };
  }

  #pause(error: RollcallError): Pause | null {
    const asked = error instanceof HubError ? (error.retryAfterMs ?? 0) : 0;
    // Of one who is not there, nothing can be learnt by waiting: somebody else tells.
    if (error.code === 'HUB_NOT_OFFERED' && this.#answers === 0) return null;
    if (this.#inARow < PAUSE_AFTER && asked === 0) return null;
    const own = jitteredPauseMs(PAUSES, Math.max(1, this.#inARow), this.#random);
    const ms = Math.min(PAUSES.longestMs, Math.max(asked, own));
    return { ms, canary: this.#lastAnswered };
  }
}

/** Not of the hub's token, nor of a request that was never sent. */
function isAboutRequest({ code }: RollcallError): boolean {
  return code !== 'HUB_CIRCUIT_OPEN' && code !== 'HUB_TOKEN_UNAVAILABLE' && code !== 'HUB_TOKEN_REFUSED';
}

/** Names no student and no content: it is published. */
function reasonOf(error: RollcallError): string {
  const status = error instanceof HubError && error.status !== null ? ` (HTTP ${error.status})` : '';
  return `the hub does not give the student's lessons: ${error.code}${status}`;
}

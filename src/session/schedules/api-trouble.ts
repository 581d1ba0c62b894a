import { HubError } from '../../hub/hub-error.ts';
import { RollcallError } from '../../errors.ts';
import { jitteredPauseMs, pauseMs, type Backoff } from '../../retry-policy.ts';

/**
 * After so many failed requests for a student, between which other students were answered, the round skips the student.
 */
const MOST_ATTEMPTS = 3;
const RETRIES: Backoff = { firstMs: 1_000, longestMs: 300_000 };
/** If so many students in a row are not found, before any was answered, the hub does not offer the API. */
const NOT_OFFERED_AFTER = 10;
/** After `PAUSE_AFTER` failures in a row Rollcall pauses; after `AWAY_AFTER` the API counts as away. */
const PAUSE_AFTER = 2;
const AWAY_AFTER = 6;
const PAUSES: Backoff = { firstMs: 1_000, longestMs: 300_000 };

/** The consequence of a failed request. */
export type TroubleVerdict =
  | { readonly kind: 'again'; readonly retryMs: number; readonly pause: Pause | null }
  /** The hub answers for other students, so the fault is in this request. */
  | { readonly kind: 'give-up'; readonly reason: string }
  | { readonly kind: 'not-offered' };

/** A pause without requests. */
export interface Pause {
  readonly ms: number;
  /**
   * A student whom the hub answered for, asked first after the pause: distinguishes an API in trouble from students
   * without an answer.
   */
  readonly canary: string | null;
}

/** Distinguishes a Core API in trouble from a student for whom it has no answer. */
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

  /**
   * Whether the API answers for no one. Many students without an answer of their own are not enough: the request for
   * the student answered last must have failed too.
   */
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

  /** Starts over: every student is tried again. */
  reset(wanted: ReadonlySet<string>): void {
    if (this.#lastAnswered !== null && !wanted.has(this.#lastAnswered)) this.#lastAnswered = null;
    this.#attempts.clear();
    this.#notFound.clear();
    this.#inARow = 0;
  }

  /** `wanted`: the number of wanted students. */
  failed(student: string, error: RollcallError, wanted: number): TroubleVerdict {
    const attempts = this.#attempts.get(student) ?? { count: 0, answersBefore: 0 };
    this.#attempts.set(student, attempts);
    // A failure counts against the student only if another student was answered since the previous one.
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
    // A pause shows nothing about a student who is not found; the next student's request does.
    if (error.code === 'HUB_NOT_OFFERED' && this.#answers === 0) return null;
    if (this.#inARow < PAUSE_AFTER && asked === 0) return null;
    const own = jitteredPauseMs(PAUSES, Math.max(1, this.#inARow), this.#random);
    const ms = Math.min(PAUSES.longestMs, Math.max(asked, own));
    return { ms, canary: this.#lastAnswered };
  }
}

/** Whether an error comes from the request itself, not from the token or the circuit breaker. */
function isAboutRequest({ code }: RollcallError): boolean {
  return code !== 'HUB_CIRCUIT_OPEN' && code !== 'HUB_TOKEN_UNAVAILABLE' && code !== 'HUB_TOKEN_REFUSED';
}

/** The reason of the reject. It is published, so it names no student and no content. */
function reasonOf(error: RollcallError): string {
  if (error.code === 'HUB_LESSONS_UNREADABLE') return error.message;
  const status = error instanceof HubError && error.status !== null ? ` (HTTP ${error.status})` : '';
  return `the hub does not give the student's lessons: ${error.code}${status}`;
}

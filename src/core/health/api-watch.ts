import type { HubEvent } from '../hub-events.ts';
import type { NotReady } from './tenant-facts.ts';

/** Retries hide a failure for so long. */
const FAILING_MS = 15_000;
/** A hub may take so long to answer, and longer where the configuration says so. */
const UNANSWERED_MS = 30_000;
/** A time-out comes a little later than configured. */
const GRACE_MS = 5_000;

/** Failures of the whole hub. After any other one, another request may well succeed: the hub answers, and refuses one thing. */
export const OF_WHOLE_HUB = /^HUB_(UNREACHABLE|TIMEOUT|UNAVAILABLE|CIRCUIT_OPEN|TOKEN_.*)$/;

/** Whether one API of a tenant's hub answers, from the requests to it. All times are ms since the epoch, by the local clock. */
export class ApiWatch {
  readonly #name: string;
  readonly #unansweredMs: number;
  #inFlight = 0;
  /** Since when the requests under way have had no answer; null: none is under way. */
  #waitingSinceMs: number | null = null;
  /** When requests began to fail, with no answer since; null: the last one was answered. */
  #failingSinceMs: number | null = null;
  #lastCode = 'unknown';

  constructor(name: string, { requestTimeoutMs }: { readonly requestTimeoutMs: number }) {
    this.#name = name;
    this.#unansweredMs = Math.max(UNANSWERED_MS, requestTimeoutMs + GRACE_MS);
  }

  note(event: HubEvent, nowMs: number): void {
    switch (event.type) {
      case 'request-started':
        this.#inFlight += 1;
        this.#waitingSinceMs ??= nowMs;
        return;
      case 'request-stopped':
        this.#ended(null);
        return;
      case 'request-done':
        this.#ended(nowMs);
        if (event.target !== 'token') this.#failingSinceMs = null;
        return;
      case 'request-failed':
        this.#ended(nowMs);
        // A request that ends with its session fails too, and not by the hub.
        if (!OF_WHOLE_HUB.test(event.code)) return;
        this.#failingSinceMs ??= nowMs;
        // An open circuit is no answer of the hub.
        if (event.code !== 'HUB_CIRCUIT_OPEN') this.#lastCode = event.code;
        return;
      default:
    }
  }

  /** Nobody asks the hub until the next session, or a whole sync came to its end: what failed before says nothing about it now. */
  forget(): void {
    this.#failingSinceMs = null;
  }

  /** Why the API is not ready now, also while nothing has failed yet: it may have stopped answering. */
  reasons(nowMs: number): NotReady[] {
    const failingSinceMs = this.#failingSinceMs ?? nowMs;
    const waitingSinceMs = this.#waitingSinceMs ?? nowMs;
    const isFailing = nowMs - failingSinceMs >= FAILING_MS;
    if (!isFailing && nowMs - waitingSinceMs < this.#unansweredMs) return [];
    const why = isFailing ? `no request succeeds (${this.#lastCode})` : 'requests wait for an answer';
    const since = new Date(isFailing ? failingSinceMs : waitingSinceMs).toISOString();
    const remedy = '"rollcall check" shows what it answers.';
    return [{ part: 'hub', why: `${this.#name}: ${why}`, remedy, since }];
  }

  /** `answeredAtMs` null: without an answer, so the others wait as long as before. */
  #ended(answeredAtMs: number | null): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#inFlight === 0) this.#waitingSinceMs = null;
    else if (answeredAtMs !== null) this.#waitingSinceMs = answeredAtMs;
  }
}

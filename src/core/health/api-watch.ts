import type { HubEvent } from '../hub-events.ts';
import { formatDuration } from '../words.ts';
import type { NotReady } from './tenant-facts.ts';

/** Retries hide a failure for so long. */
const FAILING_MS = 15_000;
/** A page of a slow hub takes seconds, not this long. */
const UNANSWERED_MS = 30_000;

/** Failures after which another request may well succeed: the hub answers, and refuses one thing. */
const REFUSALS: ReadonlySet<string> = new Set([
  'HUB_NOT_OFFERED',
  'HUB_REQUEST_REFUSED',
  'HUB_FOREIGN_DATA',
  'HUB_PAGE_TOO_LONG',
]);

/** Whether one API of a tenant's hub answers, from the requests to it. All times are ms since the epoch, by the local clock. */
export class ApiWatch {
  readonly #name: string;
  #inFlight = 0;
  /** Since when the requests under way have had no answer; null: none is under way. */
  #waitingSinceMs: number | null = null;
  /** When requests began to fail, with no answer since; null: the last one was answered. */
  #failingSinceMs: number | null = null;
  #lastCode = 'unknown';

  constructor(name: string) {
    this.#name = name;
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
        if (REFUSALS.has(event.code) || !event.code.startsWith('HUB_')) return;
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
    const failingMs = nowMs - (this.#failingSinceMs ?? nowMs);
    const waitingMs = nowMs - (this.#waitingSinceMs ?? nowMs);
    const remedy = '"rollcall check" shows what it answers.';
    const why =
      failingMs >= FAILING_MS
        ? `no request has succeeded for ${formatDuration(failingMs)} (${this.#lastCode})`
        : `requests have waited ${formatDuration(waitingMs)} for an answer`;
    if (failingMs < FAILING_MS && waitingMs < UNANSWERED_MS) return [];
    return [{ part: 'hub', why: `${this.#name}: ${why}`, remedy }];
  }

  /** `answeredAtMs` null: without an answer, so the others wait as long as before. */
  #ended(answeredAtMs: number | null): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#inFlight === 0) this.#waitingSinceMs = null;
    else if (answeredAtMs !== null) this.#waitingSinceMs = answeredAtMs;
  }
}

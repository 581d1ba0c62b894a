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

/** Notes what the requests to a tenant's hub show. All times are ms since the epoch, by the local clock. */
export class HubWatch {
  #inFlight = 0;
  /** Since when the requests under way have had no answer; null: none is under way. */
  #waitingSinceMs: number | null = null;
  /** When requests began to fail, with no answer since; null: the last one was answered. */
  #failingSinceMs: number | null = null;
  #lastCode: string | null = null;
  /** Open circuits, with the time of the next trial. `core` is the Core API's. */
  readonly #circuits = new Map<'hub' | 'core', number>();

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
        this.#lastCode = event.code;
        return;
      case 'circuit-opened':
        this.#circuits.set(event.api ?? 'hub', nowMs + event.retryInMs);
        return;
      case 'circuit-closed':
        this.#circuits.delete(event.api ?? 'hub');
        return;
      default:
    }
  }

  /** Nobody asks the hub until the next session: what failed before says nothing about it now. */
  sessionEnded(): void {
    this.#failingSinceMs = null;
  }

  /** Why the hub is not ready now, also while nothing has failed yet: it may have stopped answering. */
  reasons(tenant: string, nowMs: number): NotReady[] {
    const reasons: NotReady[] = [];
    const failingSinceMs = this.#failingSinceMs;
    const waitingSinceMs = this.#waitingSinceMs;
    const failingMs = failingSinceMs === null ? 0 : nowMs - failingSinceMs;
    const waitingMs = waitingSinceMs === null ? 0 : nowMs - waitingSinceMs;
    if (failingMs >= FAILING_MS) {
      const why = `no request has succeeded for ${formatDuration(failingMs)} (${this.#lastCode ?? 'unknown'})`;
      reasons.push({ part: 'hub', tenant, why, remedy: '"rollcall check" shows what the hub answers.' });
    } else if (waitingMs >= UNANSWERED_MS) {
      const why = `requests have waited ${formatDuration(waitingMs)} for an answer`;
      reasons.push({ part: 'hub', tenant, why, remedy: '"rollcall check" shows whether the hub answers.' });
    }
    for (const [api, retryAtMs] of this.#circuits) {
      const what = api === 'core' ? 'the Core API (schedules)' : 'the hub';
      const inMs = retryAtMs - nowMs;
      const next = inMs > 0 ? `the next trial is in ${formatDuration(inMs)}` : 'the next request is a trial';
      reasons.push({
        part: 'breaker',
        tenant,
        why: `the circuit to ${what} is open: it failed too often in a row; ${next}`,
        remedy: 'Rollcall tries again by itself; see why the hub fails: rollcall check.',
      });
    }
    return reasons;
  }

  /** `answeredAtMs` null: without an answer, so the others wait as long as before. */
  #ended(answeredAtMs: number | null): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#inFlight === 0) this.#waitingSinceMs = null;
    else if (answeredAtMs !== null) this.#waitingSinceMs = answeredAtMs;
  }
}

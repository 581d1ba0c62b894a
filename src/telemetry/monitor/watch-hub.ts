import type { HubFacts } from '../../core/health/hub-watch.ts';
import type { HubEvent } from '../../core/hub-events.ts';

/** Failures after which another request may well succeed: the hub answers, and refuses one thing. */
const REFUSALS: ReadonlySet<string> = new Set([
  'HUB_NOT_OFFERED',
  'HUB_REQUEST_REFUSED',
  'HUB_FOREIGN_DATA',
  'HUB_PAGE_TOO_LONG',
]);

/** Notes what the requests to a tenant's hub show. */
export class HubWatch {
  #inFlight = 0;
  #waitingSinceMs: number | null = null;
  #failingSinceMs: number | null = null;
  #lastCode: string | null = null;
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

  facts(): HubFacts {
    return {
      failingSinceMs: this.#failingSinceMs,
      lastCode: this.#lastCode,
      waitingSinceMs: this.#waitingSinceMs,
      circuits: this.#circuits,
    };
  }

  /** `answeredAtMs` null: without an answer, so the others wait as long as before. */
  #ended(answeredAtMs: number | null): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#inFlight === 0) this.#waitingSinceMs = null;
    else if (answeredAtMs !== null) this.#waitingSinceMs = answeredAtMs;
  }
}

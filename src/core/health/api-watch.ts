import type { HubEvent } from '../hub-events.ts';
import type { NotReady } from './tenant-facts.ts';

/** Retries hide a failure that is shorter than this. */
const FAILING_MS = 15_000;

/** Failures of the whole hub. After any other failure, the next request may well succeed, because the hub answers and only refuses one thing. */
export const OF_WHOLE_HUB = /^HUB_(UNREACHABLE|TIMEOUT|UNAVAILABLE|CIRCUIT_OPEN|TOKEN_.*)$/;

/** Whether one API of a tenant's hub answers, from the requests to it. All times are ms since the epoch, by the local clock. */
export class ApiWatch {
  readonly #name: string;
  /** When requests began to fail, with no answer since; null: the last one was answered. */
  #failingSinceMs: number | null = null;
  #lastCode = 'unknown';

  constructor(name: string) {
    this.#name = name;
  }

  note(event: HubEvent, nowMs: number): void {
    if (event.type === 'request-done' && event.target !== 'token') this.#failingSinceMs = null;
    // A request that ends because its session ends fails, too, but not because of the hub.
    if (event.type !== 'request-failed' || !OF_WHOLE_HUB.test(event.code)) return;
    this.#failingSinceMs ??= nowMs;
    // The open circuit is not an answer of the hub.
    if (event.code !== 'HUB_CIRCUIT_OPEN') this.#lastCode = event.code;
  }

  /**
   * Called when the session has ended, so that nobody asks the hub, and when a sync was complete: earlier failures say
   * nothing about the hub any more.
   */
  forget(): void {
    this.#failingSinceMs = null;
  }

  /** Why the API is not ready now. */
  reasons(nowMs: number): NotReady[] {
    const sinceMs = this.#failingSinceMs;
    if (sinceMs === null || nowMs - sinceMs < FAILING_MS) return [];
    const why = `${this.#name}: no request succeeds (${this.#lastCode})`;
    const remedy = 'To see what the hub answers, run "rollcall check".';
    return [{ part: 'hub', why, remedy, since: new Date(sinceMs).toISOString() }];
  }
}

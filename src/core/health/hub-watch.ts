import type { HubEvent } from '../hub-events.ts';
import type { NotReady } from './tenant-facts.ts';

/** Retries hide a failure that is shorter than this. */
const FAILING_MS = 15_000;

/** Failures of the whole hub. After any other failure, the next request may well succeed, because the hub answers and only refuses one thing. */
export const OF_WHOLE_HUB = /^HUB_(UNREACHABLE|TIMEOUT|UNAVAILABLE|CIRCUIT_OPEN|TOKEN_.*)$/;

/**
 * Whether a tenant's hub answers, from the requests to it. The Core API does not count, because it may fail while the
 * rest of the hub answers: then the syncs of `schedules` fail. All times are ms since the epoch, by the local clock.
 */
export class HubWatch {
  /** When requests began to fail, with no answer since; null: the last one was answered. */
  #failingSinceMs: number | null = null;
  #lastCode = 'unknown';

  note(event: HubEvent, nowMs: number): void {
    if (!('target' in event) || event.target === 'schedules') return;
    if (event.type === 'request-done' && event.target !== 'token') this.#failingSinceMs = null;
    // A request that ends because its session ends fails, too, but not because of the hub.
    if (event.type !== 'request-failed' || !OF_WHOLE_HUB.test(event.code)) return;
    this.#failingSinceMs ??= nowMs;
    // The open circuit is not an answer of the hub.
    if (event.code !== 'HUB_CIRCUIT_OPEN') this.#lastCode = event.code;
  }

  /**
   * Forgets earlier failures, which say nothing about the hub any more. Called when a sync was complete, and when the
   * session has ended, because nobody asks the hub after that.
   */
  forget(): void {
    this.#failingSinceMs = null;
  }

  /** Why the hub is not ready now. */
  reasons(nowMs: number): NotReady[] {
    const sinceMs = this.#failingSinceMs;
    if (sinceMs === null || nowMs - sinceMs < FAILING_MS) return [];
    const why = `no request to the hub succeeds (${this.#lastCode})`;
    const remedy = 'To see what the hub answers, run "rollcall check".';
    return [{ part: 'hub', why, remedy, since: new Date(sinceMs).toISOString() }];
  }
}

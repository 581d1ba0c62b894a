import { formatDuration } from '../words.ts';
import type { NotReady } from './parts.ts';

/** Retries hide a failure for so long. */
const FAILING_MS = 15_000;
/** A page of a slow hub takes seconds, not this long. */
const UNANSWERED_MS = 30_000;

/** Facts from the requests to a tenant's hub. All times are ms since the epoch, by the local clock. */
export interface HubFacts {
  /** When requests began to fail, with no answer since; null: the last one was answered. */
  readonly failingSinceMs: number | null;
  /** Code of the last failure. */
  readonly lastCode: string | null;
  /** Since when the requests under way have had no answer; null: none is under way. */
  readonly waitingSinceMs: number | null;
  /** Open circuits, with the time of the next trial. `core` is the Core API's. */
  readonly circuits: ReadonlyMap<'hub' | 'core', number>;
}

/** Why the hub is not ready now, also while nothing has failed yet: it may have stopped answering. */
export function hubReasons(tenant: string, hub: HubFacts, nowMs: number): NotReady[] {
  const reasons: NotReady[] = [];
  const { failingSinceMs, waitingSinceMs } = hub;
  const failingMs = failingSinceMs === null ? 0 : nowMs - failingSinceMs;
  const waitingMs = waitingSinceMs === null ? 0 : nowMs - waitingSinceMs;
  if (failingMs >= FAILING_MS) {
    const why = `no request has succeeded for ${formatDuration(failingMs)} (${hub.lastCode ?? 'unknown'})`;
    reasons.push({ part: 'hub', tenant, why, remedy: '"rollcall check" shows what the hub answers.' });
  } else if (waitingMs >= UNANSWERED_MS) {
    const why = `requests have waited ${formatDuration(waitingMs)} for an answer`;
    reasons.push({ part: 'hub', tenant, why, remedy: '"rollcall check" shows whether the hub answers.' });
  }
  for (const [api, retryAtMs] of hub.circuits) {
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

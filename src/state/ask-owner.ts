import { RollcallError } from '../errors.ts';
import type { Coordination, OwnerRequest, RequestAnswer, RequestOutcome } from './coordination.ts';

export interface AskOwnerOptions {
  readonly coordination: Coordination;
  readonly tenantId: string;
  readonly request: OwnerRequest;
  readonly signal: AbortSignal;
  /** Must reject when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Any clock that goes on evenly, ms. */
  readonly now: () => number;
  /** Called with each new progress of the owner's. */
  readonly onProgress?: ((progress: unknown) => void) | undefined;
  readonly pollIntervalMs?: number | undefined;
  /** How long a living owner may leave the request lying, ms. */
  readonly takeWithinMs?: number | undefined;
}

/** An owner renews its sign ten times as often, and Redis forgets a sign a good deal sooner. */
const BEATS_WITHIN_MS = 30_000;
/** An asker that says nothing for so long is taken to be dead, and its request is dropped. */
const ASKER_ALIVE_MS = 15_000;

/**
 * Has the tenant's owner do something and waits for it. Throws `OWNERSHIP_LOST` when there is no owner, or it ends
 * before it has answered; then nothing is known of how far it came. Throws `OWNER_BUSY` when one lives that does not
 * begin. Aborting the signal withdraws the request,
 * unless the owner has already begun.
 */
export async function askOwner(options: AskOwnerOptions): Promise<RequestOutcome> {
  const { coordination, tenantId, request, signal, sleep, pollIntervalMs = 500 } = options;
  if ((await coordination.livingOwner(tenantId)) === null) throw noOwner(tenantId);
  await coordination.leave(tenantId, request, ASKER_ALIVE_MS);
  try {
    return await outcomeOf({ ...options, signal, sleep, pollIntervalMs });
  } finally {
    // A failure here would hide what happened; without it the request lapses by itself.
    await coordination.cancel(tenantId, request.id).catch(() => undefined);
  }
}

async function outcomeOf(
  options: AskOwnerOptions & { readonly pollIntervalMs: number },
): Promise<RequestOutcome> {
  const { coordination, tenantId, request, now, takeWithinMs = 600_000 } = options;
  const askedAtMs = now();
  const heartbeats = { beat: '', sinceMs: askedAtMs };
  let told = 'null';
  for (;;) {
    // The sign is read first: an owner that answers and withdraws in between has still answered.
    const living = await coordination.livingOwner(tenantId);
    const answer = await coordination.answerTo(tenantId, request.id);
    if (answer !== null && answer.state !== 'taken') return withoutOwner(answer);
    if (living === null) throw noOwner(tenantId);
    if (answer !== null && answer.owner !== living.owner) throw ownerEnded(tenantId);
    if (answer === null && now() - askedAtMs > takeWithinMs) throw notTaken(tenantId, takeWithinMs);
    const { beat = '' } = living.info;
    if (beat !== heartbeats.beat) Object.assign(heartbeats, { beat, sinceMs: now() });
    // An owner of an earlier version does not count its renewals.
    if (beat !== '' && now() - heartbeats.sinceMs > BEATS_WITHIN_MS) throw silent(tenantId, living.owner);
    const progress = answer?.progress ?? null;
    const text = JSON.stringify(progress);
    if (text !== told) {
      told = text;
      options.onProgress?.(progress);
    }
    await coordination.keepAlive(tenantId, request.id, ASKER_ALIVE_MS);
    await options.sleep(options.pollIntervalMs, options.signal);
  }
}

function withoutOwner(answer: Exclude<RequestAnswer, { state: 'taken' }>): RequestOutcome {
  const { owner: _owner, ...outcome } = answer;
  return outcome;
}

function noOwner(tenantId: string): RollcallError {
  return new RollcallError('OWNERSHIP_LOST', `no process that owns ${tenantId} gives a sign of life`, {
    remedy: 'Give the command again: without a living owner it does the work itself.',
  });
}

function ownerEnded(tenantId: string): RollcallError {
  return new RollcallError('OWNERSHIP_LOST', `the process that owned ${tenantId} ended before it was done`, {
    remedy: 'Give the command again; what the process had committed stays.',
  });
}

function silent(tenantId: string, owner: string): RollcallError {
  const seconds = Math.round(BEATS_WITHIN_MS / 1000);
  return new RollcallError(
    'OWNER_BUSY',
    `the sign of ${owner}, which owns ${tenantId}, has neither been renewed for ${seconds} s nor lapsed`,
    {
      remedy:
        'See whether that process lives: end it if it hangs. Redis must let keys expire; give the command again when the sign is gone.',
    },
  );
}

function notTaken(tenantId: string, takeWithinMs: number): RollcallError {
  const seconds = Math.round(takeWithinMs / 1000);
  return new RollcallError(
    'OWNER_BUSY',
    `the process that owns ${tenantId} did not begin within ${seconds} s`,
    { remedy: 'See its status for what it is doing, and give the command again.' },
  );
}

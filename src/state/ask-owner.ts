import { RollcallError } from '../errors.ts';
import type { Coordination, OwnerRequest, RequestOutcome } from './coordination.ts';

export interface AskOwnerOptions {
  readonly coordination: Coordination;
  readonly tenantId: string;
  readonly request: OwnerRequest;
  readonly signal: AbortSignal;
  /** Must reject when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Monotonic clock, ms. */
  readonly now: () => number;
  /** Called whenever the owner reports new progress. */
  readonly onProgress?: ((progress: unknown) => void) | undefined;
  readonly pollIntervalMs?: number | undefined;
}

/** How long a living owner may take to begin. */
const TAKEN_WITHIN_MS = 600_000;

/**
 * Sends a request to the tenant's owner and waits for the outcome. Throws `OWNERSHIP_LOST` when there is no owner, or
 * when it ends before it answers (how far it got is then unknown). Throws `OWNER_BUSY` when a living owner does not
 * begin. Aborting the signal withdraws a request that the owner has not begun.
 */
export async function askOwner(options: AskOwnerOptions): Promise<RequestOutcome> {
  const { coordination, tenantId, request } = options;
  if (!(await coordination.livingOwners([tenantId]))[0]) throw noOwner(tenantId);
  try {
    await coordination.leave(tenantId, request);
    return await outcomeOf(options);
  } finally {
    // A failure here would hide the outcome.
    await coordination.cancel(tenantId, request).catch(() => undefined);
  }
}

async function outcomeOf(options: AskOwnerOptions): Promise<RequestOutcome> {
  const { coordination, tenantId, request, now, sleep, signal, pollIntervalMs = 500 } = options;
  const askedAtMs = now();
  let lastProgress = 'null';
  for (;;) {
    // The heartbeat is read first, so that the answer of an owner that then withdraws still counts.
    const [living] = await coordination.livingOwners([tenantId]);
    const answer = await coordination.answerTo(tenantId, request.id);
    if (answer !== null && answer.state !== 'taken') return answer;
    if (!living) throw noOwner(tenantId);
    if (answer !== null && answer.owner !== living.owner) throw ownerEnded(tenantId);
    if (answer === null && now() - askedAtMs > TAKEN_WITHIN_MS) throw notTaken(tenantId);
    const progress = answer?.progress ?? null;
    const text = JSON.stringify(progress);
    if (text !== lastProgress) {
      lastProgress = text;
      options.onProgress?.(progress);
    }
    await sleep(pollIntervalMs, signal);
  }
}

function noOwner(tenantId: string): RollcallError {
  return new RollcallError('OWNERSHIP_LOST', `No running process owns the tenant ${tenantId}`, {
    remedy: 'Run the command again: without an owner it does the work itself.',
  });
}

function ownerEnded(tenantId: string): RollcallError {
  const what = `The process that owned ${tenantId} ended before it finished the request`;
  return new RollcallError('OWNERSHIP_LOST', what, {
    remedy: 'Run the command again; what the process has committed stays.',
  });
}

function notTaken(tenantId: string): RollcallError {
  const seconds = TAKEN_WITHIN_MS / 1000;
  const what = `The process that owns ${tenantId} did not take the request up within ${seconds} s`;
  return new RollcallError('OWNER_BUSY', what, {
    remedy: '`rollcall status` shows what that process is doing. Run the command again when it is done.',
  });
}

import { RollcallError } from '../errors.ts';
import type { Coordination, OwnerRequest, RequestOutcome } from './coordination.ts';

export interface ServeRequestsOptions {
  readonly coordination: Coordination;
  readonly tenantId: string;
  readonly owner: string;
  /** Handles a request. Result and progress must survive JSON. An error that it throws becomes the outcome. */
  readonly handle: (request: OwnerRequest, report: (progress: unknown) => Promise<void>) => Promise<unknown>;
  /** Ends serving after the current request. */
  readonly signal: AbortSignal;
  /** Must reject when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly pollIntervalMs?: number | undefined;
}

/** About half a minute with the default poll interval: longer than a failover of Redis. */
const ANSWER_ATTEMPTS = 30;

/** Handles requests to this tenant's owner, one after another, until the signal aborts. */
export async function serveRequests(options: ServeRequestsOptions): Promise<void> {
  const { coordination, tenantId, owner, signal, sleep, pollIntervalMs = 1_000 } = options;
  while (!signal.aborted) {
    // While Redis is unreachable nobody can send a request; the owner itself notices that its index is unreachable.
    const request = await coordination.take(tenantId, owner).catch(() => null);
    if (request === null) {
      await sleep(pollIntervalMs, signal).catch(() => undefined);
      continue;
    }
    const outcome = await outcomeOf(options, request);
    await sendOutcome(options, request, outcome, pollIntervalMs);
  }
}

async function outcomeOf(options: ServeRequestsOptions, request: OwnerRequest): Promise<RequestOutcome> {
  const { coordination, tenantId, owner } = options;
  let reports: Promise<unknown> = Promise.resolve();
  let isOver = false;
  try {
    const result = await options.handle(request, async (progress) => {
      // One part has failed, but other work that was going on at the same time still reports.
      if (isOver) return;
      // Lost progress must not fail the work; the next report replaces it.
      const sent = coordination
        .answer(tenantId, request.id, { state: 'taken', owner, progress })
        .catch(() => undefined);
      reports = Promise.all([reports, sent]);
      await sent;
    });
    return { state: 'done', result: result ?? null };
  } catch (error) {
    const { code, message, remedy } =
      error instanceof RollcallError
        ? error
        : new RollcallError('INTERNAL', `the request ${request.kind} failed`, {
            remedy: 'See the log of the process that owns the tenant.',
          });
    return { state: 'failed', code, message, remedy };
  } finally {
    isOver = true;
    // No progress may arrive after the outcome, because the asker would then wait for another outcome.
    await reports;
  }
}

async function sendOutcome(
  options: ServeRequestsOptions,
  request: OwnerRequest,
  outcome: RequestOutcome,
  pauseMs: number,
): Promise<void> {
  const { coordination, tenantId, owner, signal, sleep } = options;
  for (let attempt = 1; attempt <= ANSWER_ATTEMPTS; attempt += 1) {
    try {
      await coordination.answer(tenantId, request.id, { owner, ...outcome });
      return;
    } catch {
      if (signal.aborted) return;
      await sleep(pauseMs, signal).catch(() => undefined);
    }
  }
}

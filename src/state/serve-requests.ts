import { RollcallError } from '../errors.ts';
import { ANSWER_KEPT_MS, type Coordination, type OwnerRequest, type RequestOutcome } from './coordination.ts';

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

/** Well below the lifetime of an answer, so that a request with long work does not look untaken. */
const RENEW_EVERY_MS = ANSWER_KEPT_MS / 6;

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
  const { coordination, tenantId, owner, sleep } = options;
  let latest: unknown = null;
  let reports: Promise<unknown> = Promise.resolve();
  const done = new AbortController();
  // Lost progress must not fail the work; the next report replaces it.
  const sendProgress = (): Promise<void> =>
    coordination
      .answer(tenantId, request.id, { state: 'taken', owner, progress: latest ?? null })
      .catch(() => undefined);
  const renewal = repeat(() => sleep(RENEW_EVERY_MS, done.signal), sendProgress);
  try {
    const result = await options.handle(request, async (progress) => {
      // Work that goes on beside the part that failed still reports.
      if (done.signal.aborted) return;
      latest = progress;
      const sent = sendProgress();
      reports = Promise.all([reports, sent]);
      await sent;
    });
    return { state: 'done', result: result ?? null };
  } catch (error) {
    if (error instanceof RollcallError) {
      return { state: 'failed', code: error.code, message: error.message, remedy: error.remedy };
    }
    return {
      state: 'failed',
      code: 'INTERNAL',
      message: `the request ${request.kind} failed`,
      remedy: 'See the log of the process that owns the tenant.',
    };
  } finally {
    done.abort();
    // No progress may arrive after the outcome: the asker would wait for another one.
    await renewal;
    await reports;
  }
}

/** Acts after each pause, until a pause rejects. */
async function repeat(pause: () => Promise<void>, act: () => Promise<void>): Promise<void> {
  for (;;) {
    const isOver = await pause().then(
      () => false,
      () => true,
    );
    if (isOver) return;
    await act();
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

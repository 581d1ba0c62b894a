import { RollcallError } from '../errors.ts';
import { ANSWER_KEPT_MS, type Coordination, type OwnerRequest, type RequestOutcome } from './coordination.ts';

export interface ServeRequestsOptions {
  readonly coordination: Coordination;
  readonly tenantId: string;
  readonly owner: string;
  /** Does what is asked; its result and its progress must survive JSON. What it throws becomes the failure told. */
  readonly handle: (request: OwnerRequest, report: (progress: unknown) => Promise<void>) => Promise<unknown>;
  /** Ends the serving, once the request at hand is done. */
  readonly signal: AbortSignal;
  /** Must reject when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly pollIntervalMs?: number | undefined;
}

/** Well within what an answer is kept for, so that long work is not taken for a request that nobody began. */
const RENEW_EVERY_MS = ANSWER_KEPT_MS / 6;

/** Some half a minute with the poll interval's default: longer than a failover of Redis takes. */
const ANSWER_ATTEMPTS = 30;

/** Does what other processes ask of this tenant's owner, one request after another, until the signal aborts. */
export async function serveRequests(options: ServeRequestsOptions): Promise<void> {
  const { coordination, tenantId, owner, signal, sleep, pollIntervalMs = 1_000 } = options;
  while (!signal.aborted) {
    // Out of reach, nothing can be asked either; the owner notices by itself that its index is away.
    const request = await coordination.take(tenantId, owner).catch(() => null);
    if (request === null) {
      await sleep(pollIntervalMs, signal).catch(() => undefined);
      continue;
    }
    const outcome = await outcomeOf(options, request);
    await tell(options, request, outcome, pollIntervalMs);
  }
}

async function outcomeOf(options: ServeRequestsOptions, request: OwnerRequest): Promise<RequestOutcome> {
  const { coordination, tenantId, owner, sleep } = options;
  let latest: unknown = null;
  const done = new AbortController();
  // Progress that is lost is told again by the next; it must not fail the work.
  const tellTaken = (): Promise<void> =>
    coordination
      .answer(tenantId, request.id, { state: 'taken', owner, progress: latest ?? null })
      .catch(() => undefined);
  const renewal = repeat(() => sleep(RENEW_EVERY_MS, done.signal), tellTaken);
  try {
    const result = await options.handle(request, (progress) => {
      latest = progress;
      return tellTaken();
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
    // None may come after how it ended.
    await renewal;
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

async function tell(
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

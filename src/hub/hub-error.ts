import type { PagingMode } from '../core/hub-events.ts';
import { RollcallError, type ErrorCode } from '../errors.ts';

/**
 * The whole process receives only one larger answer at a time: the next one waits until the reader is done with it
 * (large-turn.ts).
 */
export const LARGE_BYTES = 8 * 1024 * 1024;

/** The remedy if the hub, or something between the hub and Rollcall, breaks answers. */
export const CHECK_THE_WAY = 'If this continues, check the hub and the proxies in front of it.';

interface HubErrorOptions {
  readonly remedy: string;
  readonly cause?: unknown;
  /** HTTP status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** `Retry-After` in ms, counted from the answer. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the same request may succeed if it is repeated soon; left out: what the code says. */
  readonly retryable?: boolean | undefined;
}

/** A failed request to the hub, with the facts that the retry logic needs. */
export class HubError extends RollcallError {
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: HubErrorOptions) {
    super(code, message, { remedy: options.remedy, cause: options.cause });
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.retryable = options.retryable ?? this.reaction === 'retry';
  }
}

/** An answer that is larger than a request may receive without waiting for a turn (see {@link LARGE_BYTES}). */
export class LargeAnswer extends HubError {
  constructor(where: string) {
    super('HUB_RESPONSE_TOO_LARGE', `Cannot read ${where}: the answer is larger than ${LARGE_BYTES} bytes`, {
      remedy:
        'Only the pages of a sync may be larger. Ask the people who run the hub to honour the parameters "filter" and "limit".',
      retryable: false,
    });
  }
}

/** The error if even a request for a single row gets an answer that is too large. */
export function noSmallerPage({ code, message }: HubError): HubError {
  const orElse = code === 'HUB_RESPONSE_TOO_LARGE' ? ', or raise hub.maxResponseBytes' : '';
  return new HubError(code, `${message}, even for limit=1`, {
    remedy: `Smaller pages do not help: the hub ignores the parameter "limit", or a single row is too large. Ask the people who run the hub to honour "limit"${orElse}.`,
    retryable: false,
  });
}

/** Whether the hub itself is failing. Such errors open the circuit; a refusal does not. */
export function isHubTrouble(error: unknown): boolean {
  if (!(error instanceof HubError)) return false;
  if (error.code === 'HUB_UNREACHABLE' || error.code === 'HUB_TIMEOUT') return true;
  // A hub is not failing if it only asks Rollcall to slow down, by 429, or by 401 or 403 with Retry-After.
  return error.code === 'HUB_UNAVAILABLE' && ![401, 403, 429].includes(error.status ?? 0);
}

/** Whether the hub refuses a parameter of the request. Any other refusal may come from a proxy, or may be transient. */
export function refusesParameters(error: unknown): error is HubError {
  return error instanceof HubError && (error.status === 400 || error.status === 422);
}

/** Failures that may concern a single request; all others concern the whole hub. */
const ABOUT_ONE_REQUEST: ReadonlySet<string> = new Set([
  'HUB_REQUEST_REFUSED',
  'HUB_NOT_OFFERED',
  'HUB_FORBIDDEN',
  'HUB_BODY_INVALID',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
]);

/** Whether an error concerns only the request that failed, so that its answer is inconclusive. */
export function concernsOneRequest(error: unknown): error is HubError {
  return error instanceof HubError && ABOUT_ONE_REQUEST.has(error.code);
}

/** Returns why a smaller page may help (spec 8: "reduce only on time-outs"); null when it would not. */
export function asksForSmallerPages(error: HubError): 'timeout' | 'too-large' | null {
  if (error.code === 'HUB_RESPONSE_TOO_LARGE' || error.code === 'HUB_PAGE_TOO_LONG') return 'too-large';
  if (error.code === 'HUB_TIMEOUT') return 'timeout';
  // 408 and 504 are time-outs of the hub or a proxy. Time-outs of the token endpoint have another code, because they
  // concern no page.
  const isTimeoutStatus = error.code === 'HUB_UNAVAILABLE' && (error.status === 408 || error.status === 504);
  return isTimeoutStatus ? 'timeout' : null;
}

/** `cure`: what helps. */
export function brokenPaging(
  where: string,
  why: string,
  { mode, cure }: { mode: PagingMode; cure: keyof typeof PAGING_CURES },
): HubError {
  return new HubError('HUB_PAGING_BROKEN', `Cannot page through ${where} by ${mode}: ${why}`, {
    remedy: PAGING_CURES[cure],
  });
}

const ONE_PAGE =
  'If the collection fits into one page, set hub.pageSize above its size; otherwise ask the people who run the hub to correct its paging.';
const PAGING_CURES = {
  none: `No paging mode works for this collection. ${ONE_PAGE}`,
  mode: 'Set hub.paging to auto, or try the other mode (keyset or offset).',
  again:
    'The hub no longer pages as it did before. The next sync finds out how the hub pages now. If this continues, set hub.paging.',
} as const;

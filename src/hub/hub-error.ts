import { RollcallError, type ErrorCode } from '../errors.ts';

interface HubErrorOptions {
  readonly remedy: string;
  readonly cause?: unknown;
  /** HTTP status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** What `Retry-After` asked for, ms from the answer on. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the same request may go through if repeated soon. */
  readonly retryable?: boolean | undefined;
  /** Whether the answer was JSON: an object that is gone is told in JSON, a route that is not there rarely is. */
  readonly jsonBody?: boolean | undefined;
}

const RETRYABLE_BY_DEFAULT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'HUB_UNREACHABLE',
  'HUB_TIMEOUT',
  'HUB_UNAVAILABLE',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
  'HUB_BODY_INVALID',
  'HUB_TOKEN_UNAVAILABLE',
]);

/** A failed request to the hub, with what the retry logic needs to know about it. */
export class HubError extends RollcallError {
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly retryable: boolean;
  readonly jsonBody: boolean;

  constructor(code: ErrorCode, message: string, options: HubErrorOptions) {
    super(code, message, { remedy: options.remedy, cause: options.cause });
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.retryable = options.retryable ?? RETRYABLE_BY_DEFAULT.has(code);
    this.jsonBody = options.jsonBody ?? false;
  }
}

/** Whether an error says that the hub itself is in trouble: these open the circuit, a refusal does not. */
export function isHubTrouble(error: unknown): boolean {
  if (!(error instanceof HubError)) return false;
  if (error.code === 'HUB_UNREACHABLE' || error.code === 'HUB_TIMEOUT') return true;
  // 429 is a living hub that asks for patience.
  return error.code === 'HUB_UNAVAILABLE' && error.status !== 429;
}

/** Failures that may come of the one question asked, as for a single row; all others concern the hub as a whole. */
const OF_THE_QUESTION: ReadonlySet<string> = new Set([
  'HUB_REQUEST_REFUSED',
  'HUB_NOT_OFFERED',
  'HUB_FORBIDDEN',
  'HUB_BODY_INVALID',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
]);

/** Whether an error says something about the question only: nothing can be told by asking so. */
export function isOfTheQuestion(error: unknown): error is HubError {
  return error instanceof HubError && OF_THE_QUESTION.has(error.code);
}

/** What makes a smaller page worth a try. */
export type SmallerPagesReason = 'timeout' | 'too-large';

/** Why a smaller page may help (spec 8: "reduce only on time-outs"); null where it would not. */
export function asksForSmallerPages(error: HubError): SmallerPagesReason | null {
  if (error.code === 'HUB_RESPONSE_TOO_LARGE' || error.code === 'HUB_PAGE_TOO_LONG') return 'too-large';
  if (error.code === 'HUB_TIMEOUT') return 'timeout';
  // 408 and 504 are time-outs too, told by the hub or by what stands before it. The token endpoint's are of no page.
  const saysTimeout = error.code === 'HUB_UNAVAILABLE' && (error.status === 408 || error.status === 504);
  return saysTimeout ? 'timeout' : null;
}

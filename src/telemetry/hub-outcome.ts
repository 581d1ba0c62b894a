import type { ErrorCode } from '../errors.ts';
import type { HubOutcome } from './metrics.ts';

type HubErrorCode = Extract<ErrorCode, `HUB_${string}`>;

const OUTCOMES: Readonly<Record<HubErrorCode, HubOutcome>> = {
  HUB_UNREACHABLE: 'unreachable',
  HUB_TIMEOUT: 'timeout',
  HUB_UNAVAILABLE: 'unavailable',
  HUB_CIRCUIT_OPEN: 'unavailable',
  HUB_RESPONSE_TOO_LARGE: 'too-large',
  HUB_PAGE_TOO_LONG: 'too-large',
  HUB_BODY_INVALID: 'invalid',
  HUB_LESSONS_UNREADABLE: 'invalid',
  HUB_PAGING_BROKEN: 'invalid',
  HUB_TOKEN_UNAVAILABLE: 'unavailable',
  HUB_TOKEN_REFUSED: 'unauthorised',
  HUB_FORBIDDEN: 'unauthorised',
  HUB_NOT_OFFERED: 'refused',
  HUB_REQUEST_REFUSED: 'refused',
  HUB_FOREIGN_DATA: 'invalid',
};

/** Returns how a failed request counts in the metrics, by its error and HTTP status (null: no response). */
export function hubOutcomeOf(code: ErrorCode, status: number | null): HubOutcome {
  if (status === 429) return 'rate-limited';
  if (status === 401) return 'unauthorised';
  return Object.hasOwn(OUTCOMES, code) ? OUTCOMES[code as HubErrorCode] : 'invalid';
}

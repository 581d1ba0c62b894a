import { DEFAULT_RETRY_POLICY } from './backoff.ts';
import { HubError } from './hub-error.ts';

interface Waits {
  readonly baseMs: number;
  readonly capMs: number;
}

/** Wrong credentials are not tried again sooner: many servers lock a client that keeps trying. */
const REFUSED: Waits = { baseMs: 15_000, capMs: 600_000 };
/** May be a proxy's, or a server's own way to say that the credentials are wrong: only time tells. */
const REFUSED_WITHOUT_CODE: Waits = { baseMs: 500, capMs: 600_000 };
const IN_TROUBLE: Waits = { baseMs: 500, capMs: 60_000 };

/** A request that asks itself again waits no longer than this; a whole pass that fails can wait as long as it takes. */
const PATIENCE_MS = 30_000;

function waitsAfter({ code, status }: HubError): Waits {
  if (code === 'HUB_TOKEN_REFUSED') return REFUSED;
  return status === 400 || status === 401 || status === 403 ? REFUSED_WITHOUT_CODE : IN_TROUBLE;
}

interface Failure {
  readonly error: HubError;
  /** What the failures in a row ask for. */
  readonly waitMs: number;
  /** What the endpoint asks for is in it. */
  readonly gateMs: number;
  readonly untilMs: number;
}

/** The failure, with how long nothing is asked again: who waits for less only meets it again. */
function waitingOut(failure: Failure, retryAfterMs: number): HubError {
  const { code, message, remedy, retryable, status, cause } = failure.error;
  return new HubError(code, message, {
    remedy,
    retryable: retryable && failure.waitMs <= PATIENCE_MS,
    retryAfterMs,
    status: status ?? undefined,
    cause,
  });
}

/**
 * Keeps everybody who needs a token from asking the token endpoint again too soon after a failure: the wait grows with
 * the failures in a row, is never shorter than the endpoint's `Retry-After`, and is the same for all who ask.
 */
export class TokenGate {
  readonly #now: () => number;
  #failure: Failure | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws the last failure, with what is left to wait, while nothing is to be asked. */
  requireOpen(): void {
    const failure = this.#failure;
    if (failure === null) return;
    const leftMs = failure.untilMs - this.#now();
    // More than the whole is left where the clock has been set back meanwhile.
    if (leftMs > 0 && leftMs <= failure.gateMs) throw waitingOut(failure, leftMs);
  }

  /** After a failure of the endpoint; returns it with how long to wait. */
  shut(error: HubError): HubError {
    const { baseMs, capMs } = waitsAfter(error);
    const waitMs = Math.min(capMs, Math.max(baseMs, 2 * (this.#failure?.waitMs ?? 0)));
    const askedMs = Math.min(DEFAULT_RETRY_POLICY.retryAfterCapMs, error.retryAfterMs ?? 0);
    const gateMs = Math.max(waitMs, askedMs);
    this.#failure = { error, waitMs, gateMs, untilMs: this.#now() + gateMs };
    return waitingOut(this.#failure, gateMs);
  }

  /** After a token was given. */
  open(): void {
    this.#failure = null;
  }
}

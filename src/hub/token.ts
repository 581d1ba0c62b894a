import type { HubEvent } from '../core/hub-events.ts';
import { pauseMs } from '../retry-policy.ts';
import type { HttpClient } from './http.ts';
import { HubError } from './hub-error.ts';
import type { HubSettings } from './hub.ts';
import { readTokenAnswer } from './token-answer.ts';
import { DEFAULT_RETRY_POLICY } from './retry.ts';

/** A token is renewed this long before it expires, or a quarter of its lifetime before if that is less. */
const MARGIN_MS = 30_000;

type TokenSettings = Pick<HubSettings, 'tokenUrl' | 'clientId' | 'clientSecret' | 'clientAuth' | 'scope'>;

interface TokenTools {
  readonly http: HttpClient;
  readonly now: () => number;
  readonly onEvent: (event: HubEvent) => void;
}

/** The longest wait within a request. For a longer one the sync fails, and its own retry waits. */
const PATIENCE_MS = 30_000;

export interface Token {
  readonly value: string;
  /** Wall clock, ms since the epoch. */
  readonly obtainedAtMs: number;
}

export interface TokenSource {
  /** Returns the token in use, or a new one. Concurrent callers share one request. */
  get(signal: AbortSignal): Promise<Token>;
  /** Drops a token that the hub refused: the next {@link get} obtains another one. */
  discard(token: Token): void;
}

/** Encodes a value as `application/x-www-form-urlencoded`, as RFC 6749 2.3.1 requires for id and secret. */
function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function requestOf(settings: TokenSettings): { headers: Record<string, string>; body: string } {
  const { clientId, clientAuth, scope } = settings;
  const secret = settings.clientSecret.reveal();
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== '') form.set('scope', scope);
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  if (clientAuth === 'basic') {
    const pair = `${formEncode(clientId)}:${formEncode(secret)}`;
    headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
  } else {
    form.set('client_id', clientId);
    form.set('client_secret', secret);
  }
  return { headers, body: form.toString() };
}

/** A failure of the endpoint, and how long nobody asks it again. */
interface Failure {
  readonly error: HubError;
  readonly inARow: number;
  readonly waitMs: number;
  readonly untilMs: number;
}

/** How long to wait after so many failures in a row. Many servers lock a client that keeps trying with wrong credentials. */
function waitAfter({ code, status, retryAfterMs }: HubError, inARow: number): number {
  const isRefusal = status === 400 || status === 401 || status === 403;
  const firstMs = code === 'HUB_TOKEN_REFUSED' ? 15_000 : 500;
  const ownMs = pauseMs({ firstMs, longestMs: isRefusal ? 600_000 : 60_000 }, inARow);
  return Math.max(ownMs, Math.min(DEFAULT_RETRY_POLICY.retryAfterCapMs, retryAfterMs ?? 0));
}

/** The error with the wait; a network failure of the endpoint becomes `HUB_TOKEN_UNAVAILABLE`. */
function withWait(error: HubError, waitMs: number): HubError {
  const { code, message, remedy, retryable, status, cause } = error;
  const isOwn = code.startsWith('HUB_TOKEN');
  // others speak of pages
  const isOfUrl = isOwn || remedy.includes('hub.tokenUrl');
  return new HubError(isOwn ? code : 'HUB_TOKEN_UNAVAILABLE', isOwn ? message : `No token: ${message}`, {
    remedy: isOfUrl ? remedy : 'If this continues, check the service at hub.tokenUrl.',
    retryable: retryable && waitMs <= PATIENCE_MS,
    retryAfterMs: waitMs,
    status: status ?? undefined,
    cause: isOwn ? cause : error,
  });
}

interface CachedToken {
  readonly token: Token;
  readonly usableUntilMs: number;
}

/** OAuth 2.0 client credentials (RFC 6749 4.4); tokens are cached until shortly before they expire. */
export function createTokenSource(settings: TokenSettings, { http, now, onEvent }: TokenTools): TokenSource {
  const url = new URL(settings.tokenUrl);
  const where = `the token endpoint ${url.origin}${url.pathname}`;
  let cached: CachedToken | null = null;
  let reason: 'first' | 'expired' | 'refused-by-hub' = 'first';
  let pending: Promise<Token> | null = null;
  /** Null after a success. */
  let failed: Failure | null = null;

  async function obtain(): Promise<Token> {
    // The caller's signal is not used, since others may wait for the same token. The client's time limit applies.
    const signal = new AbortController().signal;
    const startedAtMs = now();
    const response = await http.send({
      method: 'POST',
      url,
      ...requestOf(settings),
      signal,
      where,
      setting: 'hub.tokenUrl',
    });
    const grant = readTokenAnswer(response, { where, nowMs: now() });
    const token: Token = { value: grant.accessToken, obtainedAtMs: now() };
    const marginMs = Math.min(MARGIN_MS, grant.lifetimeMs / 4);
    cached = { token, usableUntilMs: startedAtMs + grant.lifetimeMs - marginMs };
    onEvent({ type: 'token-obtained', reason, lifetimeMs: grant.lifetimeMs });
    reason = 'expired';
    failed = null;
    return token;
  }

  async function obtainOrExplain(): Promise<Token> {
    const startedAtMs = now();
    try {
      return await obtain();
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      const inARow = (failed?.inARow ?? 0) + 1;
      const waitMs = waitAfter(error, inARow);
      failed = { error: withWait(error, waitMs), inARow, waitMs, untilMs: now() + waitMs };
      const { code, status } = failed.error;
      onEvent({ type: 'request-failed', target: 'token', code, status, durationMs: now() - startedAtMs });
      throw failed.error;
    } finally {
      pending = null;
    }
  }

  return {
    async get(signal) {
      signal.throwIfAborted();
      if (cached !== null && now() < cached.usableUntilMs) return cached.token;
      const leftMs = failed === null ? 0 : failed.untilMs - now();
      // More than the full wait is left only if the clock was set back.
      if (failed !== null && leftMs > 0 && leftMs <= failed.waitMs) throw withWait(failed.error, leftMs);
      pending ??= obtainOrExplain();
      return abortable(pending, signal);
    },
    discard(token) {
      if (cached?.token !== token) return;
      cached = null;
      reason = 'refused-by-hub';
    },
  };
}

/** Stops waiting when the caller's signal aborts; the shared work continues. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

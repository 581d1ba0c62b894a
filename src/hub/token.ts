import { createHash } from 'node:crypto';
import { abortable } from '../abortable.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { HttpClient } from './http.ts';
import { CHECK_THE_WAY, HubError } from './hub-error.ts';
import type { HubSettings } from './hub.ts';
import { readTokenAnswer } from './token-answer.ts';
import { tokenGate } from './token-gate.ts';

/** A token is renewed this long before it expires, or a quarter of its lifetime before if that is less. */
const MARGIN_MS = 30_000;
/**
 * A token is used for at least this long, unless the hub refuses it: a token that expires at once would cost an
 * additional request each time.
 */
const SHORTEST_USE_MS = 5_000;

type TokenSettings = Pick<HubSettings, 'tokenUrl' | 'clientId' | 'clientSecret' | 'clientAuth' | 'scope'> & {
  readonly audience?: string | undefined;
};

interface TokenTools {
  /** The name of these settings, for remedies. */
  readonly of: 'hub' | 'kafka.sasl' | 'registry.oauth';
  readonly http: HttpClient;
  readonly now: () => number;
  readonly onEvent: (event: HubEvent) => void;
}

/** For this long after its issue, a token may be refused because the clocks of the hub and of its token service differ. */
export const YOUNG_TOKEN_MS = 60_000;
/** The shortest time that a request waits after such a refusal. Clocks seldom differ by more than this. */
export const YOUNG_TOKEN_PAUSE_MS = 3_000;

export interface Token {
  readonly value: string;
  /** Wall clock, ms since the epoch. */
  readonly obtainedAtMs: number;
  /** Whether the hub has answered a request that carried this token with success (2xx). */
  accepted: boolean;
}

export type TokenSource = ReturnType<typeof createTokenSource>;

/** Encodes a value as `application/x-www-form-urlencoded`, as RFC 6749 2.3.1 requires for id and secret. */
function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function requestOf(settings: TokenSettings): { headers: Record<string, string>; body: string } {
  const { clientId, clientAuth, scope, audience } = settings;
  const secret = settings.clientSecret.reveal();
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== '') form.set('scope', scope);
  if (audience !== undefined) form.set('audience', audience);
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

/** Tells one secret from another without keeping either. */
function digestOf({ clientSecret }: TokenSettings): string {
  return createHash('sha256').update(clientSecret.reveal()).digest('base64');
}

/** Turns a network failure of the token endpoint into `HUB_TOKEN_UNAVAILABLE`. */
function asTokenError(error: unknown, of: TokenTools['of']): unknown {
  if (!(error instanceof HubError) || error.code.startsWith('HUB_TOKEN')) return error;
  return new HubError('HUB_TOKEN_UNAVAILABLE', `No token: ${error.message}`, {
    // The remedies of other errors are about pages of a collection.
    remedy:
      error.code === 'HUB_UNREACHABLE' && error.remedy !== CHECK_THE_WAY
        ? error.remedy
        : `If this continues, check the service at ${of}.tokenUrl.`,
    retryable: error.retryable,
    cause: error,
  });
}

/** OAuth 2.0 client credentials (RFC 6749 4.4); tokens are cached until shortly before they expire. */
export function createTokenSource(settings: TokenSettings, { of, http, now, onEvent }: TokenTools) {
  const url = new URL(settings.tokenUrl);
  const where = `the token endpoint ${url.origin}${url.pathname}`;
  let cached: { readonly token: Token; readonly usableUntilMs: number } | null = null;
  let reason: 'first' | 'expired' | 'refused-by-hub' = 'first';
  let pending: Promise<Token> | null = null;
  /** The token that the hub has refused, until the answer to the next request for one. */
  let refused: string | null = null;
  const gate = tokenGate(now);

  async function obtain(): Promise<Token> {
    // The caller's signal is not used, because others may wait for the same token. The client's own time limit
    // applies.
    const signal = new AbortController().signal;
    const startedAtMs = now();
    const response = await http.send({
      method: 'POST',
      url,
      ...requestOf(settings),
      signal,
      where,
      setting: `${of}.tokenUrl`,
    });
    const grant = readTokenAnswer(response, { of, where, nowMs: now() });
    const token: Token = { value: grant.accessToken, obtainedAtMs: now(), accepted: false };
    const marginMs = Math.min(MARGIN_MS, grant.lifetimeMs / 4);
    const usableMs = Math.max(SHORTEST_USE_MS, grant.lifetimeMs - marginMs);
    // Some services return the same token until it expires by their own clock: the next request after a pause asks
    // again.
    const usedMs = token.value === refused ? Math.min(usableMs, YOUNG_TOKEN_PAUSE_MS) : usableMs;
    refused = null;
    cached = { token, usableUntilMs: startedAtMs + usedMs };
    onEvent({ type: 'token-obtained', reason, lifetimeMs: grant.lifetimeMs });
    reason = 'expired';
    gate.open();
    return token;
  }

  async function obtainOrExplain(): Promise<Token> {
    const startedAtMs = now();
    const credentials = digestOf(settings);
    try {
      return await obtain();
    } catch (cause) {
      const error = asTokenError(cause, of);
      if (error instanceof HubError) {
        const { code, status } = error;
        onEvent({ type: 'request-failed', target: 'token', code, status, durationMs: now() - startedAtMs });
        throw gate.shut(error, credentials);
      }
      throw error;
    } finally {
      pending = null;
    }
  }

  return {
    /** Returns the token in use, or a new one. Concurrent callers share one request. */
    async get(signal: AbortSignal): Promise<Token> {
      signal.throwIfAborted();
      if (cached !== null && now() < cached.usableUntilMs) return cached.token;
      gate.requireOpen(digestOf(settings));
      pending ??= obtainOrExplain();
      return abortable(pending, signal);
    },
    /** Drops a token that the hub refused: the next `get` obtains another one. */
    discard(token: Token): void {
      if (cached?.token !== token) return;
      cached = null;
      refused = token.value;
      reason = 'refused-by-hub';
    },
  };
}

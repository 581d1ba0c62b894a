import { parseRetryAfter } from './with-retries.ts';
import type { HttpResponse } from './http.ts';
import { HubError } from './hub-error.ts';
import { jsonOrNull } from '../core/json-or-null.ts';
import { isJsonObject } from '../core/rows/raw-json.ts';

/** Lifetime for an answer without `expires_in` (RFC 6749 5.1 only recommends the field). */
const ASSUMED_LIFETIME_MS = 300_000;

export interface TokenGrant {
  readonly accessToken: string;
  readonly lifetimeMs: number;
}

function fieldsOf(body: Buffer): Readonly<Record<string, unknown>> | null {
  const parsed = jsonOrNull(body.toString('utf8'));
  return isJsonObject(parsed) ? parsed : null;
}

/**
 * The codes of RFC 6749 5.2, with the usual remedy. `{}`: the settings of the client. Other
 * text may quote credentials, so Rollcall does not repeat it.
 */
const REMEDIES: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    invalid_client:
      'Check {}.clientId and {}.clientSecret, and whether the server wants {}.clientAuth basic or post.',
    invalid_scope: 'Check {}.scope: the server does not know it or does not grant it to this client.',
    unauthorized_client: 'Allow this client to use the client_credentials grant.',
    unsupported_grant_type: 'Check {}.tokenUrl: this server does not offer the client_credentials grant.',
    invalid_request:
      'Check {}.scope (some servers require one) and try the other {}.clientAuth (basic or post).',
    invalid_grant: 'Check {}.clientId and {}.clientSecret, and that the client is not disabled or expired.',
  }),
);

interface AnswerContext {
  /** The name of the client's settings, for remedies. */
  readonly of: string;
  readonly where: string;
  readonly nowMs: number;
}

/** The error for an answer that may differ next time: everything except a final refusal as in RFC 6749 5.2. */
function unavailable(response: HttpResponse, context: AnswerContext, what: string, remedy: string): HubError {
  return new HubError('HUB_TOKEN_UNAVAILABLE', `No token: ${context.where} ${what}`, {
    remedy: `If this continues, ${remedy.replaceAll('{}', context.of)}`,
    status: response.status,
    retryAfterMs: parseRetryAfter(response.header('retry-after'), context.nowMs),
  });
}

function errorOfStatus(response: HttpResponse, context: AnswerContext): HubError {
  const { status } = response;
  if (status === 400 || status === 401) {
    const code = fieldsOf(response.body)?.['error'];
    const remedy = REMEDIES.get(code);
    const asksToWait = parseRetryAfter(response.header('retry-after'), context.nowMs) !== undefined;
    if (remedy !== undefined && !asksToWait) {
      const message = `No token: ${context.where} answered ${String(code)} (HTTP ${status})`;
      return new HubError('HUB_TOKEN_REFUSED', message, {
        remedy: remedy.replaceAll('{}', context.of),
        status,
        retryable: false,
      });
    }
  }
  if (status >= 300 && status < 400) {
    const what = 'answered with a redirect, and Rollcall does not send credentials to another address';
    return unavailable(response, context, what, 'set {}.tokenUrl to the target of the redirect.');
  }
  return unavailable(response, context, `answered HTTP ${status}`, remedyOfStatus(status));
}

function remedyOfStatus(status: number): string {
  if (status >= 500 || status === 429 || status === 408) return 'check the token service.';
  if (status === 404 || status === 405) return 'check {}.tokenUrl: there is no token endpoint.';
  if (status === 401 || status === 403) return 'check {}.clientId, {}.clientSecret and {}.clientAuth.';
  return 'check {}.tokenUrl, {}.clientAuth and {}.scope.';
}

function lifetimeMsOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return ASSUMED_LIFETIME_MS;
  return Math.max(0, seconds * 1000);
}

function grantOf(response: HttpResponse, context: AnswerContext): TokenGrant {
  const fields = fieldsOf(response.body);
  if (fields === null) {
    const remedy =
      'check {}.tokenUrl: it must be the OAuth 2.0 token endpoint, not a web page of the service.';
    throw unavailable(response, context, 'answered with a body that is not a JSON object', remedy);
  }
  const accessToken = fields['access_token'];
  // The token goes into a header: anything but visible ASCII (RFC 6750 2.1) would break it or inject another.
  if (typeof accessToken !== 'string' || !/^[\u0021-\u007e]+$/.test(accessToken)) {
    throw unavailable(response, context, 'returned no usable access_token', 'check {}.tokenUrl.');
  }
  const type = fields['token_type'];
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer') {
    const what = 'returned a token of a type other than Bearer';
    throw unavailable(response, context, what, 'have the token service issue Bearer tokens to this client.');
  }
  return { accessToken, lifetimeMs: lifetimeMsOf(fields['expires_in']) };
}

/**
 * Reads the token in an answer of the token endpoint (RFC 6749 5.1); `expires_in` may be a number or text.
 * Throws HUB_TOKEN_REFUSED for a refusal as in RFC 6749 5.2: a known `error` code with HTTP 400 or 401, without `Retry-After`. Throws
 * HUB_TOKEN_UNAVAILABLE, which is retryable, for everything else: a proxy's page proves nothing about the credentials.
 */
export function readTokenAnswer(response: HttpResponse, context: AnswerContext): TokenGrant {
  const { status } = response;
  if (status >= 200 && status < 300) return grantOf(response, context);
  throw errorOfStatus(response, context);
}

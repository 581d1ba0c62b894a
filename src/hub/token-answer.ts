import { parseRetryAfter } from './backoff.ts';
import type { HttpResponse } from './http.ts';
import { HubError } from './hub-error.ts';
import { parseJson } from './parse-json.ts';

/** Lifetime assumed when the answer names none (RFC 6749 5.1 only recommends `expires_in`). */
const ASSUMED_LIFETIME_MS = 300_000;

export interface TokenGrant {
  readonly accessToken: string;
  readonly lifetimeMs: number;
}

function fieldsOf(body: string): Record<string, unknown> | null {
  try {
    const parsed = parseJson(body);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : null;
  } catch {
    return null;
  }
}

function refused(message: string, remedy: string, status: number): HubError {
  return new HubError('HUB_TOKEN_REFUSED', message, { remedy, status, retryable: false });
}

/** RFC 6749 5.2, with what usually stands behind each. */
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_client:
    'Check hub.clientId and hub.clientSecret, and whether the server wants hub.clientAuth basic or post.',
  invalid_scope: 'Check hub.scope: the server does not know it or does not grant it to this client.',
  unauthorized_client: 'Have the client_credentials grant allowed for this client.',
  unsupported_grant_type: 'Check hub.tokenUrl: this server does not offer the client_credentials grant.',
  invalid_request:
    'Check hub.scope (some servers require one) and try the other hub.clientAuth (basic or post).',
  invalid_grant: 'Check hub.clientId and hub.clientSecret, and that the client is not disabled or expired.',
};

function looksLikeHtml(response: HttpResponse): boolean {
  const type = response.header('content-type') ?? '';
  return (
    /html/i.test(type) || /^\s*<(?:!doctype|html|head|body)/i.test(response.body.toString('latin1', 0, 200))
  );
}

function refusalOf(response: HttpResponse, where: string): HubError {
  const { status } = response;
  const code = fieldsOf(response.body.toString('utf8'))?.['error'];
  if (typeof code === 'string' && /^[\w.-]{1,64}$/.test(code)) {
    // The description is left out: a server may repeat in it what was sent.
    const remedy = REMEDIES[code] ?? 'Check hub.clientId, hub.clientSecret, hub.clientAuth and hub.scope.';
    return refused(`No token: ${where} answered ${code} (HTTP ${status})`, remedy, status);
  }
  if (status === 404 || status === 405) {
    return refused(
      `No token: there is no token endpoint at ${where} (HTTP ${status})`,
      'Check hub.tokenUrl.',
      status,
    );
  }
  const remedy =
    status === 401 || status === 403
      ? 'Check hub.clientId, hub.clientSecret and hub.clientAuth.'
      : 'Check hub.tokenUrl, hub.clientAuth and hub.scope.';
  const shape = looksLikeHtml(response) ? ' with an HTML page' : '';
  return refused(`No token: ${where} answered HTTP ${status}${shape}`, remedy, status);
}

function lifetimeMsOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return ASSUMED_LIFETIME_MS;
  return Math.max(0, seconds * 1000);
}

function grantOf(response: HttpResponse, where: string): TokenGrant {
  const { status } = response;
  const fields = fieldsOf(response.body.toString('utf8'));
  if (fields === null) {
    const what = looksLikeHtml(response) ? 'an HTML page' : 'something that is no JSON object';
    throw refused(
      `No token: ${where} answered with ${what}`,
      'Check hub.tokenUrl: it must be the OAuth 2.0 token endpoint itself, not a page of the service.',
      status,
    );
  }
  const accessToken = fields['access_token'];
  // A token is sent in a header: anything but visible ASCII (RFC 6750 2.1) would break or inject one.
  if (typeof accessToken !== 'string' || !/^[\u0021-\u007e]+$/.test(accessToken)) {
    throw refused(
      `No token: the answer of ${where} holds no usable access_token`,
      'Check hub.tokenUrl.',
      status,
    );
  }
  const type = fields['token_type'];
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer') {
    throw refused(
      `No token: ${where} gives tokens of a type other than Bearer`,
      'Have Bearer tokens issued to this client.',
      status,
    );
  }
  return { accessToken, lifetimeMs: lifetimeMsOf(fields['expires_in']) };
}

/**
 * The token in an answer of the token endpoint (RFC 6749 5.1), `expires_in` as number or text.
 * Throws HUB_TOKEN_REFUSED when configuration or rights are wrong, HUB_TOKEN_UNAVAILABLE when it may pass.
 */
export function readTokenAnswer(
  response: HttpResponse,
  options: { where: string; nowMs: number },
): TokenGrant {
  const { where, nowMs } = options;
  const { status } = response;
  if (status >= 200 && status < 300) return grantOf(response, where);
  if (status >= 300 && status < 400) {
    throw refused(
      `No token: ${where} redirects elsewhere, and credentials do not follow redirects`,
      'Set hub.tokenUrl to the address it leads to.',
      status,
    );
  }
  if (status >= 500 || status === 429 || status === 408) {
    throw new HubError('HUB_TOKEN_UNAVAILABLE', `No token: ${where} answered HTTP ${status}`, {
      remedy: 'If it goes on, look at the token service.',
      status,
      retryAfterMs: parseRetryAfter(response.header('retry-after'), nowMs),
    });
  }
  throw refusalOf(response, where);
}

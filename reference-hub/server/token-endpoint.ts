import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../json.ts';
import type { Reply } from './reply.ts';
import { jsonReply } from './reply.ts';

const LIFETIME_MS = 3_600_000;

/** OAuth 2.0 client credentials (RFC 6749 section 4.4) and the tokens it gave out. */
export type TokenEndpoint = ReturnType<typeof createTokenEndpoint>;

export function createTokenEndpoint(options: { clientId: string; clientSecret: string; now: () => number }) {
  const expiryOf = new Map<string, number>();
  let issued = 0;
  return {
    /** How many tokens have been given out. */
    issued: () => issued,
    /** `authorization`: the header; `body`: form-encoded. */
    issue: (request: { authorization: string | undefined; contentType: string; body: string }): Reply => {
      if (!request.contentType.startsWith('application/x-www-form-urlencoded')) {
        return oauthError(400, 'invalid_request', 'Send a form (application/x-www-form-urlencoded).');
      }
      const form = new URLSearchParams(request.body);
      const repeated = [...new Set(form.keys())].find((name) => form.getAll(name).length > 1);
      if (repeated !== undefined) return oauthError(400, 'invalid_request', 'A parameter is repeated.');
      const basic = basicCredentials(request.authorization);
      if (basic !== undefined && form.has('client_secret')) {
        return oauthError(400, 'invalid_request', 'Use one way of authentication, not two.');
      }
      const id = basic?.id ?? form.get('client_id') ?? '';
      const secret = basic?.secret ?? form.get('client_secret') ?? '';
      if (!form.has('grant_type')) return oauthError(400, 'invalid_request', 'grant_type is missing.');
      if (!same(id, options.clientId) || !same(secret, options.clientSecret)) {
        return oauthError(401, 'invalid_client', 'Unknown client or wrong secret.');
      }
      if (form.get('grant_type') !== 'client_credentials') {
        return oauthError(400, 'unsupported_grant_type', 'Use client_credentials.');
      }
      const token = randomBytes(24).toString('base64url');
      for (const [old, expiry] of expiryOf) if (expiry < options.now() - LIFETIME_MS) expiryOf.delete(old);
      expiryOf.set(token, options.now() + LIFETIME_MS);
      issued += 1;
      const scope = form.get('scope');
      return tokenReply(200, {
        access_token: token,
        token_type: 'Bearer',
        expires_in: LIFETIME_MS / 1000,
        scope: scope === null || scope === '' ? undefined : scope,
      });
    },
    check: (authorization: string | undefined): 'good' | 'missing' | 'invalid' => {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
      if (token === undefined) return 'missing';
      return options.now() < (expiryOf.get(token) ?? 0) ? 'good' : 'invalid';
    },
    revokeAll: (): void => {
      for (const token of expiryOf.keys()) expiryOf.set(token, options.now());
    },
  };
}

/** RFC 6749 section 2.3.1: both halves are form-encoded before they are joined. */
function basicCredentials(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return { id: formDecoded(text.slice(0, Math.max(0, colon))), secret: formDecoded(text.slice(colon + 1)) };
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function same(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** RFC 6749 section 5.2. */
function oauthError(status: number, error: string, description: string): Reply {
  const reply = tokenReply(status, { error, error_description: description });
  if (status === 401) reply.headers['www-authenticate'] = 'Basic realm="hub"';
  return reply;
}

function tokenReply(status: number, body: JsonObject): Reply {
  return jsonReply(status, body, { 'cache-control': 'no-store', pragma: 'no-cache' });
}

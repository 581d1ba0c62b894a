import { parseRetryAfter } from './backoff.ts';
import type { HttpResponse } from './http.ts';
import { HubError } from './hub-error.ts';
import { readStatusInfo } from './status-info.ts';
import { YOUNG_TOKEN_MS, YOUNG_TOKEN_PAUSE_MS } from './token.ts';

/** The remedy for a redirect. It does not quote the address: the hub may put anything into it (invariant 9). */
function redirectRemedy(response: HttpResponse, requested: URL): string {
  const target = URL.parse(response.header('location') ?? '', requested.href);
  if (target === null) return 'Check hub.baseUrl; the redirect has no readable address.';
  if (target.host === requested.host && target.protocol !== requested.protocol) {
    return `Check hub.baseUrl: it should begin with ${target.protocol === 'https:' ? 'https' : 'http'}://.`;
  }
  const place = target.host === requested.host ? 'another path of the same host' : 'another host';
  return `Check hub.baseUrl: the redirect leads to ${place}. Request the address by hand, and set hub.baseUrl to its target if you trust it.`;
}

function remedyOfRefusal(status: number): string {
  if (status === 400 || status === 422) {
    return 'The hub rejects this request: try a lower hub.pageSize, or another hub.paging.';
  }
  return 'Check hub.baseUrl, and what the hub requires of its clients.';
}

/** Turns an answer other than 2xx into an error. `where` names the resource without its query. */
export function errorOfAnswer(
  response: HttpResponse,
  options: { where: string; requested: URL; nowMs: number; tokenAgeMs: number },
): HubError {
  const { where, requested, nowMs, tokenAgeMs } = options;
  const { status } = response;
  const info = readStatusInfo(response.body.toString('utf8'));
  const codes = info.codes.length === 0 ? '' : `: ${info.codes.join(' ')}`;
  const common = { status, jsonBody: info.json };
  const retryAfterMs = parseRetryAfter(response.header('retry-after'), nowMs);
  const isRefusal = status === 401 || status === 403;

  if (status >= 500 || status === 429 || status === 408 || (isRefusal && retryAfterMs !== undefined)) {
    return new HubError('HUB_UNAVAILABLE', `The hub answered HTTP ${status} for ${where}${codes}`, {
      ...common,
      remedy: 'If this continues, check the hub.',
      retryAfterMs,
    });
  }
  if (isRefusal) {
    const mayPass = status === 401 && tokenAgeMs < YOUNG_TOKEN_MS;
    return new HubError(
      'HUB_FORBIDDEN',
      `The hub refuses a valid token for ${where} (HTTP ${status})${codes}`,
      {
        ...common,
        remedy:
          'Have this client granted the right to read it, check hub.scope, or leave the collection out of the configuration.',
        ...(mayPass ? { retryable: true, retryAfterMs: YOUNG_TOKEN_PAUSE_MS } : {}),
      },
    );
  }
  if (status === 404 || status === 405 || status === 410) {
    return new HubError('HUB_NOT_OFFERED', `The hub does not offer ${where} (HTTP ${status})${codes}`, {
      ...common,
      remedy:
        'If this happens for every collection, check hub.baseUrl (host and tenant prefix); otherwise leave this collection out of the configuration.',
    });
  }
  if (status >= 300 && status < 400) {
    return new HubError(
      'HUB_REQUEST_REFUSED',
      `The hub redirects ${where}; Rollcall does not send its token to another address`,
      {
        ...common,
        remedy: redirectRemedy(response, requested),
      },
    );
  }
  return new HubError('HUB_REQUEST_REFUSED', `The hub answered HTTP ${status} for ${where}${codes}`, {
    ...common,
    remedy: remedyOfRefusal(status),
  });
}

/** The error for a 2xx answer whose body is not JSON. */
export function errorOfBody(response: HttpResponse, where: string): HubError {
  const html = /^\s*<(?:!doctype|html|head|body)/i.test(response.body.toString('latin1', 0, 200));
  const what = html ? 'is an HTML page' : 'is not JSON, or is cut off';
  return new HubError('HUB_BODY_INVALID', `The answer for ${where} ${what}`, {
    status: response.status,
    remedy: html
      ? 'If this continues, check hub.baseUrl: it may lead to a web page or a proxy.'
      : 'If this continues, check the hub and the proxies before it.',
  });
}

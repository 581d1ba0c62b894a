import { isUtf8 } from 'node:buffer';
import type { RememberedPage } from '../core/pages/page-memory.ts';
import { CHECK_THE_WAY, HubError } from './hub-error.ts';
import type { HttpResponse } from './http.ts';
import { requireBoundedText } from './page-bounds.ts';
import { parseHttpDate, parseRetryAfter } from './with-retries.ts';
import { YOUNG_TOKEN_MS, YOUNG_TOKEN_PAUSE_MS } from './token.ts';
import { parseLossless } from '../core/rows/lossless-json.ts';

/** A parsed 2xx answer. */
export interface HubAnswer {
  readonly status: number;
  /** Undefined with a 204, and for a page that was recognised. */
  readonly body: unknown;
  /** The body, decompressed. */
  readonly raw: Buffer;
  /**
   * The remembered page that the answer was recognised as. The answer was then not parsed. Null for any other answer.
   */
  readonly known: RememberedPage | null;
  /** False if U+FFFD replaced bytes that are not UTF-8 (RFC 8259, section 8.1). */
  readonly isUtf8: boolean;
  /** Size of the decompressed body. */
  readonly bytes: number;
  readonly total: number | null;
  readonly hubTimeMs: number | null;
  readonly link: string | null;
  /** The address of the request. */
  readonly requested: URL;
  readonly readVersion: number;
}

function totalOf(header: string | null): number | null {
  if (header === null || !/^\d{1,15}$/.test(header.trim())) return null;
  return Number(header);
}

/** Parses the text of a body. Throws `SyntaxError`. */
export function parseBody(text: string): unknown {
  return parseLossless(text.startsWith('\uFEFF') ? text.slice(1) : text);
}

/** A raw answer, with its request's address and read version. */
export interface Sent {
  readonly response: HttpResponse;
  readonly requested: URL;
  readonly readVersion: number;
  /** Age of the request's token when the answer came, ms. */
  readonly tokenAgeMs: number;
}

/** Parses a 2xx answer with a JSON body, or a 204; throws a HubError for every other answer. */
export function readAnswer(
  sent: Sent,
  options: {
    where: string;
    nowMs: number;
    recognise?: ((text: Buffer) => RememberedPage | null) | undefined;
  },
): HubAnswer {
  const { where, nowMs } = options;
  const { response, tokenAgeMs, ...rest } = sent;
  const { status, body } = response;
  if (status < 200 || status >= 300) throw errorOfAnswer(response, { where, nowMs, tokenAgeMs });
  const known = options.recognise?.(body) ?? null;
  let parsed: unknown;
  if (status !== 204 && known === null) {
    const text = body.toString('utf8');
    requireBoundedText(text, where);
    try {
      parsed = parseBody(text);
    } catch {
      throw errorOfBody(response, where);
    }
  }
  return {
    ...rest,
    status,
    body: parsed,
    raw: body,
    known,
    isUtf8: known !== null || isUtf8(body),
    bytes: body.length,
    total: totalOf(response.header('x-total-count')),
    hubTimeMs: parseHttpDate(response.header('date')),
    link: response.header('link'),
  };
}

/**
 * The codes that standards define for an error's body: `imsx_codeMajor` and `imsx_codeMinorFieldValue` (OneRoster 1.2,
 * and `deletefailure` of its gradebook), `error` of RFC 6749 5.2 and RFC 6750 3.1. Any other text may quote a row or a
 * credential, so Rollcall does not repeat it (invariant 9).
 */
const KNOWN_CODES =
  /"(success|processing|failure|unsupported|fullsuccess|invalid_filter_field|invalid_selection_field|invaliddata|unauthorisedrequest|forbidden|server_busy|unknownobject|internal_server_error|deletefailure|invalid_request|invalid_token|insufficient_scope|invalid_client|invalid_grant|unauthorized_client|unsupported_grant_type|invalid_scope)"/g;

/** The codes that an error's body names, in whatever shape: real hubs use several. */
function codesIn(body: Buffer): string {
  const codes = [...body.toString('utf8').matchAll(KNOWN_CODES)].map(([, code]) => code);
  return codes.length === 0 ? '' : `: ${[...new Set(codes)].join(' ')}`;
}

const ASK = 'If this continues, ask the people who run the hub.';
const LIMITED =
  'If this continues, lower hub.maxConcurrentRequests, or ask the people who run the hub for a higher limit.';

/** Turns an answer other than 2xx into an error. `where` names the resource without its query. */
function errorOfAnswer(
  response: HttpResponse,
  { where, nowMs, tokenAgeMs }: { where: string; nowMs: number; tokenAgeMs: number },
): HubError {
  const { status } = response;
  const codes = codesIn(response.body);
  const answered = `The hub answered HTTP ${status} for ${where}${codes}`;
  const retryAfterMs = parseRetryAfter(response.header('retry-after'), nowMs);
  const isRefusal = status === 401 || status === 403;

  if (status >= 500 || status === 429 || status === 408 || (isRefusal && retryAfterMs !== undefined)) {
    const remedy = status === 429 ? LIMITED : ASK;
    return new HubError('HUB_UNAVAILABLE', answered, { status, remedy, retryAfterMs });
  }
  if (isRefusal) {
    const mayPass = status === 401 && tokenAgeMs < YOUNG_TOKEN_MS;
    const what = `The hub refuses a valid token for ${where} (HTTP ${status})${codes}`;
    const remedy =
      'Ask the people who run the hub to let this client read it, check hub.scope, or leave the collection out of the configuration.';
    const again = mayPass ? { retryable: true, retryAfterMs: YOUNG_TOKEN_PAUSE_MS } : {};
    return new HubError('HUB_FORBIDDEN', what, { status, remedy, ...again });
  }
  if (status === 404 || status === 405 || status === 410) {
    return new HubError('HUB_NOT_OFFERED', `The hub does not offer ${where} (HTTP ${status})${codes}`, {
      status,
      remedy:
        'If this happens for every collection, check hub.baseUrl (host and tenant prefix); otherwise leave this collection out of the configuration.',
    });
  }
  if (status === 304) {
    const what = `A cache or proxy in front of the hub answered "not modified" (HTTP 304) for ${where}, although the request was not conditional`;
    const remedy = 'Let the cache or proxy pass on requests that have a token, and store no answers.';
    return new HubError('HUB_REQUEST_REFUSED', what, { status, remedy });
  }
  if (status >= 300 && status < 400) {
    const what = `The hub redirects ${where}; Rollcall does not send its token to another address`;
    const remedy =
      'Check hub.baseUrl (https:// or http://, host, path). Request this address by hand. If you trust the target of the redirect, set hub.baseUrl to it.';
    return new HubError('HUB_REQUEST_REFUSED', what, { status, remedy });
  }
  const remedy =
    status === 400 || status === 422
      ? 'The hub rejects this request: try a lower hub.pageSize, or another hub.paging.'
      : 'Check hub.baseUrl, and ask the people who run the hub why it refuses this client.';
  return new HubError('HUB_REQUEST_REFUSED', answered, { status, remedy });
}

/** The error for a 2xx answer whose body is not JSON. */
function errorOfBody({ status, body }: HttpResponse, where: string): HubError {
  const isMarkup = /^\s*</.test(body.toString('latin1', 0, 200));
  const what = isMarkup ? 'is a web page or XML' : 'is empty, cut off, or not JSON';
  return new HubError('HUB_BODY_INVALID', `The answer for ${where} ${what}`, {
    status,
    remedy: isMarkup
      ? 'If this continues, check hub.baseUrl: it may lead to a web page or a proxy.'
      : CHECK_THE_WAY,
  });
}

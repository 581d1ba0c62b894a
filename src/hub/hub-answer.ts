import { isUtf8 } from 'node:buffer';
import type { RememberedPage } from '../core/pages/page-memory.ts';
import { errorOfAnswer, errorOfBody } from './answer-error.ts';
import type { HttpResponse } from './http.ts';
import { requireBoundedText } from './page-bounds.ts';
import { parseJson } from './parse-json.ts';

/** A parsed 2xx answer. */
export interface HubAnswer {
  readonly status: number;
  /** Undefined without a body, and for a page that was recognised. */
  readonly body: unknown;
  /** Decompressed. */
  readonly raw: Buffer;
  /** The page that the answer is, unparsed. */
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

function timeOf(header: string | null): number | null {
  // Date.parse accepts far too much as a date.
  const atMs = header !== null && /^[A-Za-z]{3,9},? /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}

/** Parses the text of a body. Throws `SyntaxError`. */
export function parseBody(text: string): unknown {
  return parseJson(text.startsWith('\uFEFF') ? text.slice(1) : text);
}

/** A raw answer, with its request's address and read version. */
export interface Sent {
  readonly response: HttpResponse;
  readonly requested: URL;
  readonly readVersion: number;
  /** Age of its token when the answer came. */
  readonly tokenAgeMs: number;
}

/**
 * Parses a 2xx answer with a JSON body or none; throws a HubError for every other answer.
 * `utf8` is false if the body contains bytes that are not UTF-8.
 */
export function readAnswer(
  sent: Sent,
  options: {
    where: string;
    nowMs: number;
    recognise?: ((text: Buffer) => RememberedPage | null) | undefined;
  },
): { answer: HubAnswer; utf8: boolean } {
  const { where, nowMs } = options;
  const { response, tokenAgeMs, ...rest } = sent;
  const { status, body } = response;
  if (status < 200 || status >= 300) {
    throw errorOfAnswer(response, { where, requested: sent.requested, nowMs, tokenAgeMs });
  }
  const known = body.length > 0 ? (options.recognise?.(body) ?? null) : null;
  let parsed: unknown;
  if (body.length > 0 && known === null) {
    const text = body.toString('utf8');
    requireBoundedText(text, where);
    try {
      parsed = parseBody(text);
    } catch {
      throw errorOfBody(response, where);
    }
  }
  const answer: HubAnswer = {
    ...rest,
    status,
    body: parsed,
    raw: body,
    known,
    isUtf8: known !== null || isUtf8(body),
    bytes: body.length,
    total: totalOf(response.header('x-total-count')),
    hubTimeMs: timeOf(response.header('date')),
    link: response.header('link'),
  };
  return { answer, utf8: answer.isUtf8 };
}

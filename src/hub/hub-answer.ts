import { isUtf8 } from 'node:buffer';
import { errorOfAnswer, errorOfBody } from './answer-error.ts';
import type { HttpResponse } from './http.ts';
import { requireBoundedText } from './page-bounds.ts';
import { parseJson } from './parse-json.ts';

/** A successful answer, parsed. */
export interface HubAnswer {
  readonly status: number;
  /** Undefined when there was no body. */
  readonly body: unknown;
  /** False where bytes that are no UTF-8 (RFC 8259, section 8.1) were replaced by U+FFFD. */
  readonly isUtf8: boolean;
  /** Size of the body, decompressed. */
  readonly bytes: number;
  readonly total: number | null;
  readonly hubTimeMs: number | null;
  readonly link: string | null;
  /** The address that was asked. */
  readonly requested: URL;
  readonly sentAtMs: number;
  readonly readVersion: number;
}

function totalOf(header: string | null): number | null {
  if (header === null || !/^\d{1,15}$/.test(header.trim())) return null;
  return Number(header);
}

function timeOf(header: string | null): number | null {
  // Date.parse alone takes far too much for a date.
  const atMs = header !== null && /^[A-Za-z]{3,9},? /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}

/** An answer as it arrived, with when and what was asked. */
export interface Sent {
  readonly response: HttpResponse;
  readonly requested: URL;
  readonly sentAtMs: number;
  readonly readVersion: number;
}

/**
 * An answer as what the hub says: 2xx with a JSON body or none; else throws the HubError it amounts to.
 * `utf8` is false where bytes that are no UTF-8 were replaced.
 */
export function readAnswer(
  sent: Sent,
  options: { where: string; nowMs: number },
): { answer: HubAnswer; utf8: boolean } {
  const { where, nowMs } = options;
  const { response, ...rest } = sent;
  const { status, body } = response;
  if (status < 200 || status >= 300) {
    throw errorOfAnswer(response, { where, requested: sent.requested, nowMs });
  }
  let parsed: unknown;
  if (body.length > 0) {
    const text = body.toString('utf8');
    requireBoundedText(text, where);
    try {
      parsed = parseJson(text.startsWith('\uFEFF') ? text.slice(1) : text);
    } catch {
      throw errorOfBody(response, where);
    }
  }
  const answer: HubAnswer = {
    ...rest,
    status,
    body: parsed,
    isUtf8: body.length === 0 || isUtf8(body),
    bytes: body.length,
    total: totalOf(response.header('x-total-count')),
    hubTimeMs: timeOf(response.header('date')),
    link: response.header('link'),
  };
  return { answer, utf8: isUtf8(body) };
}

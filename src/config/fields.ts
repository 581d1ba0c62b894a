import { z } from 'zod';
import { Secret } from './redacted-secret.ts';

/** Building blocks of the configuration's schema: one for each kind of value, with its messages. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DURATION = /^(\d{1,15})(ms|s|m|h|d)$/;

/** Parses a duration: digits, then `ms`, `s`, `m`, `h` or `d`; `"90s"` → 90000. Returns null for any other text. */
export function parseDurationMs(text: string): number | null {
  const [, digits = '', unit = ''] = DURATION.exec(text) ?? [];
  const ms = Number(digits) * (UNIT_MS[unit] ?? Number.NaN);
  return Number.isSafeInteger(ms) ? ms : null;
}

/**
 * A duration as text, parsed to milliseconds. The bounds are inclusive. A pattern cannot express them, so the JSON
 * Schema has them in a comment, from which docs/configuration.md takes them.
 */
export function duration(bounds: { min: string; max: string }) {
  const minMs = parseDurationMs(bounds.min) ?? 0;
  const maxMs = parseDurationMs(bounds.max) ?? 0;
  return z
    .string({ error: 'must be a duration as text: digits, then ms, s, m, h or d, for example 60s' })
    .regex(DURATION, {
      error: 'is not a duration: digits, then ms, s, m, h or d, for example 60s',
      abort: true,
    })
    .meta({ $comment: `${bounds.min} to ${bounds.max}` })
    .transform((text) => parseDurationMs(text) ?? Number.POSITIVE_INFINITY)
    .refine((ms) => ms >= minMs && ms <= maxMs, {
      error: `must be between ${bounds.min} and ${bounds.max}`,
    });
}

/** An integer, also as text, since a filled-in variable is text. */
export function wholeNumber(bounds: { min: number; max: number }) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z
      .int({ error: 'must be a whole number' })
      .min(bounds.min, { error: `must be at least ${bounds.min}` })
      .max(bounds.max, { error: `must be at most ${bounds.max}` }),
  );
}

/** A number from 0 to 1. */
export function ratio() {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d(\.\d{1,15})?$/.test(value) ? Number(value) : value),
    z
      .number({ error: 'must be a number from 0 to 1' })
      .min(0, { error: 'must be at least 0' })
      .max(1, { error: 'must be at most 1' }),
  );
}

/** `true` or `false`, also as text, since a filled-in variable is text. */
export function flag() {
  return z.preprocess(
    (value) => (value === 'true' ? true : value === 'false' ? false : value),
    z.boolean({ error: 'must be true or false' }),
  );
}

/** Text that is not empty. */
export function text(maxLength = 1000) {
  return z
    .string({ error: 'must be text (put a number in quotes)' })
    .min(1, { error: 'is empty', abort: true })
    .max(maxLength, { error: `is longer than ${maxLength} characters` });
}

/** Text that no output shows. */
export function secret(minLength = 1) {
  return z
    .string({ error: 'must be text (put a number in quotes)' })
    .min(1, { error: 'is empty', abort: true })
    .min(minLength, { error: `is shorter than ${minLength} characters` })
    .transform((value) => new Secret(value));
}

/** How a client gets tokens from a token service. */
export const tokenClient = {
  tokenUrl: address('https:', 'http:').describe('Token endpoint (OAuth 2, client credentials).'),
  clientId: text().describe('Client id.'),
  clientSecret: secret().describe('Client secret.'),
  clientAuth: z
    .enum(['basic', 'post'])
    .prefault('basic')
    .describe('Where the client id and secret are sent: in an HTTP Basic header, or in the form.'),
  scope: z
    .string({ error: 'must be text' })
    .max(2000)
    .prefault('')
    .describe('OAuth scopes to request, separated by spaces.'),
};

function urlProblem(value: string, schemes: readonly string[]): string | null {
  if (!URL.canParse(value)) return `is not an address: ${schemes[0]}//host/path is expected`;
  const url = new URL(value);
  if (!schemes.includes(url.protocol)) return `must begin with ${schemes.map((s) => `${s}//`).join(' or ')}`;
  if (url.hostname === '') return 'names no host';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(value))
    return 'must not have a query (?) or fragment (#)';
  return null;
}

/** An address of one of these schemes without credentials, query or fragment; trailing slashes are removed. */
export function address(...schemes: readonly string[]) {
  return checkedAddress((value) => urlProblem(value, schemes), patternOf(schemes));
}

/** An address of one of these schemes, with one host or several hosts, separated by commas. */
export function addresses(...schemes: readonly string[]) {
  const several = (value: string) => {
    if (/,\s*\w+:\/\//.test(value))
      return `must name the scheme once, before all hosts: ${schemes.find((each) => value.startsWith(each)) ?? schemes[0]}//a:6379,b:6379`;
    const [, scheme = '', hosts = '', path = ''] = /^(\w+:\/\/)([^/]*)(.*)$/.exec(value) ?? [];
    const problems = hosts.split(',').map((host) => urlProblem(scheme + host + path, schemes));
    return problems.find((problem) => problem !== null) ?? null;
  };
  const isNoText = `must be text; write several hosts in one address: ${schemes[0]}//a:6379,b:6379`;
  return checkedAddress(several, patternOf(schemes), isNoText);
}

/** The pattern of an address in the JSON Schema, which cannot call a function. */
function patternOf(schemes: readonly string[]): string {
  return `^(${schemes.join('|')})//[^/?#]+(/[^?#]*)?$`;
}

function checkedAddress(
  problemOf: (value: string) => string | null,
  pattern: string,
  isNoText = 'must be text',
) {
  return z
    .string({ error: isNoText })
    .superRefine((value, context) => {
      const problem = problemOf(value);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    })
    .meta({ pattern })
    .transform((value) => value.replace(/\/+$/, ''));
}

export const LOOPBACK = /^(localhost|127\.[\d.]+|\[?::1\]?)$/;

/** Whether what is sent to an address leaves the machine unencrypted. */
export function crossesInTheClear(address: string): boolean {
  // A text that is not an address has a problem of its own.
  const url = URL.canParse(address) ? new URL(address) : null;
  return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname);
}

/** An IANA time zone, for example `Europe/Oslo`. */
export function timeZone() {
  return text(100).refine(isTimeZone, {
    error: 'is not a time zone: an IANA name such as Europe/Oslo is expected',
  });
}

function isTimeZone(name: string): boolean {
  // Intl accepts an offset such as +01:00, but an offset has no summer time, and the contract requires a name.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

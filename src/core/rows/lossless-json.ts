import { rawJson } from './raw-json.ts';

/**
 * Finds a possible number that a double cannot hold: 16 digits or more (fewer digits always survive, unless an exponent
 * takes the number out of range), or an exponent. It also matches inside strings, which costs time only; the text after
 * an exponent is checked because ids such as `…:1e3e13c2-…` would match on every page.
 * Of the patterns tried, this one is the fastest on pages of rows.
 */
const MAY_LOSE_DIGITS = /[:,[]\s*-?\d(?:[\d.]{15}|[\d.]*[eE][-+]?\d+\s*[,\]}])/;
/** A body that is neither object nor array is too rare to need the fast path. */
const CONTAINER = /^\s*[{[]/;
/** A longer number is kept as its digits, because comparing the digits could take too long. */
const LONGEST_COMPARED = 1_000;

/**
 * Parses JSON as `JSON.parse` does, except that numbers that a double cannot hold become {@link rawJson}, which
 * `JSON.stringify` writes with their digits. Throws `SyntaxError` like `JSON.parse`, and `RangeError` for values that
 * are nested thousands of levels deep.
 */
export function parseLossless(text: string): unknown {
  const isSafe = CONTAINER.test(text) && !MAY_LOSE_DIGITS.test(text);
  return JSON.parse(text, isSafe ? undefined : keepDigits) as unknown;
}

/** `source`: the text of a primitive (ECMAScript "JSON.parse source text access"). */
function keepDigits(_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  return typeof value === 'number' && !survives(source, value) ? rawJson(source) : value;
}

/** Whether the nearest double has the same digits, apart from formatting: then it has the same exponent too. */
function survives(source: string, value: number): boolean {
  if (source.length < 16 && !/[eE]/.test(source)) return true;
  if (!Number.isFinite(value) || source.length > LONGEST_COMPARED) return false;
  return significantDigits(source) === significantDigits(value.toExponential());
}

/** Equal for `100`, `-1e2` and `0.01`. */
function significantDigits(number: string): string {
  return number
    .replace(/[eE].*/, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
}

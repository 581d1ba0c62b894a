import { hash } from 'node:crypto';

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
const NUMBER = /-?\d[\d.eE+-]*/g;
/** Characters of the shortest number that a double cannot hold: `1e309`. */
const SHORTEST_LOSS = 5;

/**
 * Parses JSON as `JSON.parse` does, but numbers that a double cannot hold become {@link rawJson}, which
 * `JSON.stringify` writes with their digits. Throws `SyntaxError` like `JSON.parse`. Nesting may have any depth.
 */
export function parseLossless(text: string): unknown {
  const isSafe = CONTAINER.test(text) && !MAY_LOSE_DIGITS.test(text);
  return isSafe ? (JSON.parse(text) as unknown) : parseMarked(text);
}

/** Parses numbers that would lose digits as marked strings, and then turns those into raw JSON: this needs no stack. */
function parseMarked(text: string): unknown {
  // A text cannot contain its own digest, so no string of the hub's looks like a marked number.
  const mark = hash('sha256', text, 'hex');
  const markNumber = (token: string): string => (survives(token) ? token : `"${mark}${token}"`);
  let marked = '';
  let copiedTo = 0;
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    if (end - at >= SHORTEST_LOSS) {
      const structure = text.slice(at, end);
      const withMarks = structure.replace(NUMBER, markNumber);
      if (withMarks !== structure) {
        marked += text.slice(copiedTo, at) + withMarks;
        copiedTo = end;
      }
    }
    at = quote === -1 ? end : endOfString(text, quote);
  }
  // Parse the original first: a malformed text must not become valid through the marks.
  const parsed: unknown = JSON.parse(text);
  return copiedTo === 0 ? parsed : unmark(JSON.parse(marked + text.slice(copiedTo)), mark);
}

/** Just after the string that opens at `open`. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close !== -1; close = text.indexOf('"', close + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === 92) backslashes++;
    if (backslashes % 2 === 0) return close + 1;
  }
  return text.length;
}

/** Whether the nearest double has the same digits, apart from formatting. */
function survives(token: string): boolean {
  if (token.length < 16 && !/[eE]/.test(token)) return true;
  const value = Number(token);
  if (Number.isNaN(value)) return true;
  return Number.isFinite(value) && decimal(token) === decimal(String(value));
}

/** Significant digits and exponent of a number's text: equal for `100`, `1e2` and `100.0`. */
function decimal(token: string): string {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e');
  const negative = mantissa.startsWith('-');
  const [integer = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = `${integer}${fraction}`.replace(/^0+/, '');
  if (digits === '') return '0';
  const significant = withoutTrailingZeros(digits);
  const shift = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${negative ? '-' : ''}${significant}e${shift}`;
}

/** A regular expression would take quadratic time. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end--;
  return digits.slice(0, end);
}

function unmark(root: unknown, mark: string): unknown {
  const holder = { root };
  const todo: object[] = [holder];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const container = next as Record<string, unknown>;
    for (const key of Object.keys(container)) {
      const value = container[key];
      if (typeof value === 'string' && value.startsWith(mark))
        container[key] = rawJson(value.slice(mark.length));
      else if (typeof value === 'object' && value !== null) todo.push(value);
    }
  }
  return holder.root;
}

import { hash } from 'node:crypto';

import { rawJson } from './raw-json.ts';

/**
 * Finds what might be a number that a double cannot hold: 16 digits or more (with fewer every decimal survives, unless
 * an exponent takes it out of range), or an exponent. Also meets such text inside strings, which costs time only; what
 * follows an exponent is looked at because ids of several parts (`…:1e3e13c2-…`) would be met on every page.
 * Written for speed: of the forms tried, this one costs the least on pages of rows.
 */
const SUSPECT = /[:,[]\s*-?\d(?:[\d.]{15}|[\d.]*[eE][-+]?\d+\s*[,\]}])/;
/** What is neither object nor array is so rare that it need not be fast. */
const CONTAINER = /^\s*[{[]/;
const NUMBER = /-?\d[\d.eE+-]*/g;
/** Characters of the shortest number that a double cannot hold: `1e309`. */
const SHORTEST_LOSS = 5;

/**
 * Parses JSON as `JSON.parse` does, but numbers that a double cannot hold become {@link rawJson}, which
 * `JSON.stringify` writes with their digits. Throws `SyntaxError` like `JSON.parse`. Nesting may have any depth.
 */
export function parseLossless(text: string): unknown {
  return CONTAINER.test(text) && !SUSPECT.test(text) ? (JSON.parse(text) as unknown) : parseSuspect(text);
}

/** Numbers that would lose digits are parsed as marked strings, and become raw JSON afterwards: no stack is needed. */
function parseSuspect(text: string): unknown {
  // No text can hold its own digest, so no string of the hub's is taken for a number.
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
  // A broken text must be refused as what it is, not let through by the marks.
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

/** Whether the double nearest to the number is written with the same digits, but for formatting. */
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
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return '0';
  const significant = withoutTrailingZeros(digits);
  const shift = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${negative ? '-' : ''}${significant}e${shift}`;
}

/** A regular expression would take time in the square of the length. */
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

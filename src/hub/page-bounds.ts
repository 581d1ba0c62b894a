import { HubError } from './hub-error.ts';

/** A hub may ignore `limit` and still be read; with more rows than this it is asked for smaller pages. */
export const MAX_ROWS_PER_PAGE = 100_000;
/** Objects and lists in a body, at any depth. One without content takes 2 bytes of text and some 60 of memory. */
const MAX_CONTAINERS = 500_000;
/** Values in a body at any depth, named ones and those in lists; a name that occurs once takes some 100 bytes of memory. */
const MAX_VALUES = 2_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

function tooLong(where: string, what: string): HubError {
  return new HubError('HUB_PAGE_TOO_LONG', `Cannot read ${where}: a page holds ${what}`, {
    remedy: 'If it goes on even with smaller pages, have the hub honour limit; or lower hub.pageSize.',
  });
}

/** How often a character occurs, counted up to `most` and one more. Of the ways tried, this one costs the least. */
function countUpTo(most: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > most) break;
  }
  return count;
}

interface Structure {
  /** Objects and lists. */
  readonly containers: number;
  readonly commas: number;
}

/** Counts at least what there is: also what stands in strings. Null where the text is too short to hold too much. */
function estimate(text: string): Structure | null {
  // A container or a value takes 2 characters at least.
  if (text.length <= 2 * MAX_CONTAINERS) return null;
  const containers = countUpTo(MAX_CONTAINERS, text, '{') + countUpTo(MAX_CONTAINERS, text, '[');
  return { containers, commas: text.length <= 2 * MAX_VALUES ? 0 : countUpTo(MAX_VALUES, text, ',') };
}

/** Counts outside strings, which takes several times as long. */
function countStructure(text: string): Structure {
  let containers = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      at += 1;
      while (at < text.length && text.charCodeAt(at) !== QUOTE) {
        at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
      }
    } else if (character === COMMA) {
      commas += 1;
    } else if (character === BRACE || character === BRACKET) {
      containers += 1;
    }
  }
  return { containers, commas };
}

/** What of a body is too much; null when nothing is. */
function excessOf({ containers, commas }: Structure): string | null {
  if (containers > MAX_CONTAINERS) return `more than ${MAX_CONTAINERS} objects and lists`;
  // Each value but the first of a container follows a comma.
  return containers + commas > MAX_VALUES ? `more than ${MAX_VALUES} values` : null;
}

/**
 * Throws HUB_PAGE_TOO_LONG for JSON text that would become far more in memory than its length suggests. It counts
 * without parsing, so that nothing of it is in memory yet. Invalid JSON may pass: that is for the parser to refuse.
 */
export function requireBoundedText(text: string, where: string): void {
  const estimated = estimate(text);
  if (estimated === null || excessOf(estimated) === null) return;
  const excess = excessOf(countStructure(text));
  if (excess !== null) throw tooLong(where, excess);
}

/** Throws HUB_PAGE_TOO_LONG for a list that is longer than any hub's that only rounds `limit` up. */
export function requireBoundedRows(rows: number, options: { limit: number; where: string }): void {
  const { limit, where } = options;
  if (rows <= MAX_ROWS_PER_PAGE) return;
  throw tooLong(
    where,
    `${rows} rows where ${limit} were asked for, and at most ${MAX_ROWS_PER_PAGE} are read`,
  );
}

import { HubError } from './hub-error.ts';

/** Rollcall reads hubs that ignore `limit`; above this number of rows it asks for smaller pages. */
export const MAX_ROWS_PER_PAGE = 100_000;
/** Bounds objects and lists in a body, at any depth. An empty one takes 2 bytes of text and about 60 of memory. */
const MAX_CONTAINERS = 500_000;
/** Bounds values in a body, at any depth. A property name that occurs once takes about 100 bytes of memory. */
const MAX_VALUES = 2_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

function tooLong(where: string, what: string): HubError {
  return new HubError('HUB_PAGE_TOO_LONG', `Cannot read ${where}: a page has ${what}`, {
    remedy:
      'Rollcall asks for smaller pages. If this continues, lower hub.pageSize, or have the hub honour the parameter "limit".',
  });
}

/** Counts a character, up to `most` + 1. This was the fastest of the ways that we measured. */
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

/** Returns an upper bound, since it also counts characters in strings. Null if the text is too short for an excess. */
function estimate(text: string): Structure | null {
  // A container or a value takes 2 characters at least.
  if (text.length <= 2 * MAX_CONTAINERS) return null;
  const containers = countUpTo(MAX_CONTAINERS, text, '{') + countUpTo(MAX_CONTAINERS, text, '[');
  return { containers, commas: text.length <= 2 * MAX_VALUES ? 0 : countUpTo(MAX_VALUES, text, ',') };
}

/** Counts outside strings only, which takes several times as long. */
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

/** Describes what exceeds a bound; null when nothing does. */
function excessOf({ containers, commas }: Structure): string | null {
  if (containers > MAX_CONTAINERS) return `more than ${MAX_CONTAINERS} objects and lists`;
  // Each value but the first of a container follows a comma.
  return containers + commas > MAX_VALUES ? `more than ${MAX_VALUES} values` : null;
}

/**
 * Throws HUB_PAGE_TOO_LONG for JSON text that would take far more memory than its length suggests. It counts without
 * parsing. It accepts some invalid JSON, which the parser then refuses.
 */
export function requireBoundedText(text: string, where: string): void {
  const estimated = estimate(text);
  if (estimated === null || excessOf(estimated) === null) return;
  const excess = excessOf(countStructure(text));
  if (excess !== null) throw tooLong(where, excess);
}

/** Throws HUB_PAGE_TOO_LONG for a list of more than {@link MAX_ROWS_PER_PAGE} rows. */
export function requireBoundedRows(rows: number, options: { limit: number; where: string }): void {
  const { limit, where } = options;
  if (rows <= MAX_ROWS_PER_PAGE) return;
  throw tooLong(
    where,
    `${rows} rows for a limit of ${limit}, and Rollcall reads at most ${MAX_ROWS_PER_PAGE}`,
  );
}

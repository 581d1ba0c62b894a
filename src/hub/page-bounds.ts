import { HubError } from './hub-error.ts';

/** Rollcall reads hubs that ignore `limit`; above this number of rows it asks for smaller pages. */
export const MAX_ROWS_PER_PAGE = 100_000;
/** How many objects and lists a body may have, at any depth. An empty one takes 2 bytes of text and about 60 of memory. */
const MAX_CONTAINERS = 500_000;
/** How many values a body may have, at any depth. A property name that occurs once takes about 100 bytes of memory. */
const MAX_VALUES = 2_000_000;

function tooLong(where: string, what: string): HubError {
  return new HubError('HUB_PAGE_TOO_LONG', `Cannot read ${where}: a page has ${what}`, {
    remedy:
      'Rollcall asks for smaller pages. If this continues, lower hub.pageSize, or ask the people who run the hub to honour the parameter "limit".',
  });
}

/** Counts how often a character occurs, up to `most` + 1. This was the fastest of the ways that we measured. */
function countUpTo(most: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > most) break;
  }
  return count;
}

/**
 * Throws HUB_PAGE_TOO_LONG for JSON text that would take far more memory than its length suggests. It counts characters
 * without parsing, including those inside strings. A page with too many of them is then read in smaller pages.
 */
export function requireBoundedText(text: string, where: string): void {
  // A container or a value takes 2 characters at least.
  if (text.length <= 2 * MAX_CONTAINERS) return;
  const containers = countUpTo(MAX_CONTAINERS, text, '{') + countUpTo(MAX_CONTAINERS, text, '[');
  if (containers > MAX_CONTAINERS) throw tooLong(where, `more than ${MAX_CONTAINERS} objects and lists`);
  // Each value but the first of a container follows a comma.
  if (text.length > 2 * MAX_VALUES && containers + countUpTo(MAX_VALUES, text, ',') > MAX_VALUES)
    throw tooLong(where, `more than ${MAX_VALUES} values`);
}

/** Throws HUB_PAGE_TOO_LONG for a list of more than {@link MAX_ROWS_PER_PAGE} rows. */
export function requireBoundedRows(rows: number, { limit, where }: { limit: number; where: string }): void {
  if (rows > MAX_ROWS_PER_PAGE)
    throw tooLong(
      where,
      `${rows} rows for a limit of ${limit}, and Rollcall reads at most ${MAX_ROWS_PER_PAGE}`,
    );
}

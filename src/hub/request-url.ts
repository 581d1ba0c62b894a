import type { Collection } from '../model/collections.ts';

/** Quotes a text for the 1EdTech filter syntax; a quote inside is doubled. */
export function filterText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/**
 * `dateLastModified>'…'` (spec 4.2), always with milliseconds and `Z`: some hubs compare timestamps as text.
 */
export function modifiedAfterFilter(modifiedAfterMs: number): string {
  return `dateLastModified>${filterText(new Date(modifiedAfterMs).toISOString())}`;
}

/** Whether an id can be a path segment; `.` and `..` cannot, even percent-encoded. */
export function fitsInPath(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..';
}

/** Returns the address of a collection or of one of its rows, with the parent's id filled in. Ids must fit in a path. */
export function resourceUrl(
  baseUrl: URL,
  options: { collection: Collection; parentId?: string | undefined; rowId?: string | undefined },
): URL {
  const { collection, parentId, rowId } = options;
  if (collection.path.includes('{id}') && !fitsInPath(parentId ?? '')) {
    throw new RangeError(`${collection.name} needs a parent id that fits in a path`);
  }
  const nested = collection.path.replace('{id}', () => encodeURIComponent(parentId ?? ''));
  const row = rowId === undefined ? '' : `/${encodeURIComponent(rowId)}`;
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/\/+$/, '')}${nested}${row}`;
  return url;
}

/** Sets the query, with every parameter percent-encoded: `%20` and `%2B`, since hubs disagree about a bare `+`. */
export function withQuery(url: URL, parameters: Readonly<Record<string, string | number | undefined>>): URL {
  const parts = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  const result = new URL(url);
  result.search = parts.join('&');
  return result;
}

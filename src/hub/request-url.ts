import type { Collection } from '../model/collections.ts';

/** The `filter` value that holds a text in the 1EdTech filter syntax; a quote inside is doubled. */
export function filterText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/**
 * `dateLastModified>'…'` (spec 4.2), always with milliseconds and `Z`: some hubs compare timestamps as text.
 */
export function modifiedAfterFilter(modifiedAfterMs: number): string {
  return `dateLastModified>${filterText(new Date(modifiedAfterMs).toISOString())}`;
}

/** Whether an id can stand in a path: `.` and `..` mean other places there, however they are written. */
export function fitsInPath(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..';
}

/** Address of a collection, or of one of its rows, with the parent's id filled in. Ids must fit in a path. */
export function resourceUrl(
  baseUrl: URL,
  options: { collection: Collection; parentId?: string | undefined; rowId?: string | undefined },
): URL {
  const { collection, parentId, rowId } = options;
  if (collection.path.includes('{id}') && !fitsInPath(parentId ?? '')) {
    throw new RangeError(`${collection.name} needs the id of its parent, one that can stand in a path`);
  }
  const nested = collection.path.replace('{id}', () => encodeURIComponent(parentId ?? ''));
  const row = rowId === undefined ? '' : `/${encodeURIComponent(rowId)}`;
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/\/+$/, '')}${nested}${row}`;
  return url;
}

/** Adds query parameters, percent-encoded throughout (`%20` and `%2B`: a bare `+` means different things to different hubs). */
export function withQuery(url: URL, parameters: Readonly<Record<string, string | number | undefined>>): URL {
  const parts = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  const result = new URL(url);
  result.search = parts.join('&');
  return result;
}

/** The same address with a smaller `limit`; one without a limit, or with a lower one, stays as it is. */
export function withLimitAtMost(url: URL, limit: number): URL {
  const current = Number(url.searchParams.get('limit'));
  if (!(current > limit)) return url;
  const result = new URL(url);
  result.search = url.search.replace(/([?&]limit=)\d+/, (_, name: string) => `${name}${limit}`);
  return result;
}

import type { PagingMode } from '../core/hub-events.ts';
import type { Collection } from '../model/collections.ts';
import type { ReadOptions } from './hub.ts';

/** Quotes a text for the 1EdTech filter syntax; a quote inside is doubled. */
export function filterText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** The clauses of a page's filter (spec 4.2): times have milliseconds and `Z`, since some hubs compare them as text. */
function filterFor({ modifiedAfterMs }: ReadOptions, after: string | null): string | undefined {
  const clauses = [
    ...(modifiedAfterMs === undefined
      ? []
      : [`dateLastModified>${filterText(new Date(modifiedAfterMs).toISOString())}`]),
    ...(after === null ? [] : [`sourcedId>${filterText(after)}`]),
  ];
  return clauses.length === 0 ? undefined : clauses.join(' AND ');
}

/** The address of a page. `cursor`: the id of the last row received. `sort`: by `sourcedId`, if the mode needs it. */
export function pageUrl(
  baseUrl: URL,
  page: {
    readonly read: ReadOptions;
    readonly mode: PagingMode;
    readonly cursor: string | null;
    readonly offset: number | undefined;
    readonly limit: number;
    readonly sort: boolean;
  },
): URL {
  const { read, mode, cursor, offset, limit, sort } = page;
  const isSorted = sort && mode !== 'keyset';
  return withQuery(resourceUrl(baseUrl, read), {
    limit,
    offset,
    filter: filterFor(read, mode === 'sourced-id-filter' ? cursor : null),
    afterSourcedId: mode === 'keyset' ? (cursor ?? undefined) : undefined,
    sort: isSorted ? 'sourcedId' : undefined,
    orderBy: isSorted ? 'asc' : undefined,
  });
}

/** Whether an id can be a path segment; `.` and `..` cannot, even percent-encoded. */
export function fitsInPath(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..';
}

/** Returns the address of a collection, with the parent's id filled in, which must fit in a path. */
export function resourceUrl(
  baseUrl: URL,
  { collection, parentId }: { collection: Collection; parentId?: string | undefined },
): URL {
  if (collection.path.includes('{id}') && !fitsInPath(parentId ?? '')) {
    throw new RangeError(`${collection.name} needs a parent id that fits in a path`);
  }
  const nested = collection.path.replace('{id}', () => encodeURIComponent(parentId ?? ''));
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/\/+$/, '')}${nested}`;
  return url;
}

/** Names a collection in errors, without ids. */
export function collectionPlace({ origin, pathname }: URL, { path }: Collection): string {
  return `${origin}${pathname.replace(/\/+$/, '')}${path}`;
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

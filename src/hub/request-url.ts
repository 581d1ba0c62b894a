import type { PagingMode } from '../core/hub-events.ts';
import type { Collection } from '../model/collections.ts';
import type { ReadOptions } from './hub.ts';
import { HubError } from './hub-error.ts';

/** Quotes a text for the 1EdTech filter syntax; a quote inside is doubled. */
export function filterText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** The filter of a page (spec 4.2): its time has milliseconds and `Z`, since some hubs compare times as text. */
function filterFor({ modifiedAfterMs }: ReadOptions): string | undefined {
  if (modifiedAfterMs === undefined) return undefined;
  return `dateLastModified>${filterText(new Date(modifiedAfterMs).toISOString())}`;
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
  const isSorted = sort && mode === 'offset';
  const isAfter = mode === 'keyset' && cursor !== null;
  return withQuery(resourceUrl(baseUrl, read), {
    limit,
    offset,
    filter: filterFor(read),
    afterSourcedId: isAfter ? askableId(cursor, read.collection) : undefined,
    sort: isSorted ? 'sourcedId' : undefined,
    orderBy: isSorted ? 'asc' : undefined,
  });
}

/** Servers need not accept a longer address (RFC 9110, 4.1: 8000 octets), and some close the connection on one. */
const MAX_ENCODED_ID = 6000;

/** Whether a request can name an id. A lone surrogate has no UTF-8 form. */
export function fitsInAddress(id: string): boolean {
  return id !== '' && id.isWellFormed() && encodeURIComponent(id).length <= MAX_ENCODED_ID;
}

/**
 * Returns an id that a request is to name. If no address can contain the id, throws an error that does not quote it,
 * since it may be the id of a person.
 */
export function askableId(id: string, { name }: Collection): string {
  if (fitsInAddress(id)) return id;
  const what = `Rollcall cannot request ${name} by an id that cannot be part of an address`;
  const remedy = `Ask the people who run the hub to change the id: it must not be empty, "." or "..", and must not take more than ${MAX_ENCODED_ID} bytes in an address.`;
  throw new HubError('HUB_REQUEST_REFUSED', what, { remedy });
}

/** Returns the address of a collection, with the parent's id filled in. Throws where no path can have it. */
export function resourceUrl(
  baseUrl: URL,
  { collection, parentId = '' }: { collection: Collection; parentId?: string | undefined },
): URL {
  // No segment of a path can be `.` or `..`, even percent-encoded.
  const segment = /^\.{1,2}$/.test(parentId) ? '' : parentId;
  const nested = collection.path.replace('{id}', () => encodeURIComponent(askableId(segment, collection)));
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

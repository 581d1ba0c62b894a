import type { ReadOptions } from './hub.ts';
import type { PagingMode } from '../core/hub-events.ts';
import { filterText, modifiedAfterFilter, resourceUrl, withQuery } from './request-url.ts';

/** The start of the next page within the collection. */
export type Position =
  | { readonly kind: 'first' }
  | { readonly kind: 'cursor'; readonly cursor: string }
  | { readonly kind: 'follow'; readonly url: URL }
  | { readonly kind: 'offset'; readonly offset: number };

function filterFor(read: ReadOptions, cursor: string | null): string | undefined {
  const clauses = [
    ...(read.modifiedAfterMs === undefined ? [] : [modifiedAfterFilter(read.modifiedAfterMs)]),
    ...(cursor === null ? [] : [`sourcedId>${filterText(cursor)}`]),
  ];
  return clauses.length === 0 ? undefined : clauses.join(' AND ');
}

/** Returns the address of a page. `sort` requests the order by `sourcedId` if the mode needs it. */
export function pageUrl(options: {
  baseUrl: URL;
  read: ReadOptions;
  mode: PagingMode;
  position: Position;
  limit: number;
  sort: boolean;
}): URL {
  const { baseUrl, read, mode, position, limit, sort } = options;
  // It may count in pages of its own limit, so its limit must stay.
  if (position.kind === 'follow') return position.url;
  const cursor = position.kind === 'cursor' ? position.cursor : null;
  const order = sort && mode !== 'keyset' ? { sort: 'sourcedId', orderBy: 'asc' } : {};
  return withQuery(resourceUrl(baseUrl, { collection: read.collection, parentId: read.parentId }), {
    limit,
    offset: position.kind === 'offset' ? position.offset : undefined,
    filter: filterFor(read, mode === 'sourced-id-filter' ? cursor : null),
    afterSourcedId: mode === 'keyset' ? (cursor ?? undefined) : undefined,
    ...order,
  });
}

/** Returns the limit in an address. */
export function limitOf(url: URL, otherwise: number): number {
  const limit = Number(url.searchParams.get('limit'));
  return Number.isInteger(limit) && limit > 0 ? limit : otherwise;
}

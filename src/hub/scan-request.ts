import type { ReadOptions, PagingMode } from './hub.ts';
import type { NextLink } from './link.ts';
import { filterText, modifiedAfterFilter, resourceUrl, withLimitAtMost, withQuery } from './request-url.ts';

/** Where in the collection the next page begins. */
export type Position =
  | { readonly kind: 'first' }
  | { readonly kind: 'cursor'; readonly cursor: string }
  | { readonly kind: 'follow'; readonly link: NextLink }
  | { readonly kind: 'offset'; readonly offset: number };

function filterFor(read: ReadOptions, cursor: string | null): string | undefined {
  const clauses = [
    ...(read.modifiedAfterMs === undefined ? [] : [modifiedAfterFilter(read.modifiedAfterMs)]),
    ...(cursor === null ? [] : [`sourcedId>${filterText(cursor)}`]),
  ];
  return clauses.length === 0 ? undefined : clauses.join(' AND ');
}

/** The address of a page. `sort` asks for the order by `sourcedId` where a mode needs it. */
export function pageUrl(options: {
  baseUrl: URL;
  read: ReadOptions;
  mode: PagingMode;
  position: Position;
  limit: number;
  sort: boolean;
}): URL {
  const { baseUrl, read, mode, position, limit, sort } = options;
  if (position.kind === 'follow') {
    const { link } = position;
    // A page number counts in pages of the size it was made for: only a row's place survives a smaller one.
    return link.carries === 'opaque' ? link.url : withLimitAtMost(link.url, limit);
  }
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

/** The limit that an address asks for. */
export function limitOf(url: URL, otherwise: number): number {
  const limit = Number(url.searchParams.get('limit'));
  return Number.isInteger(limit) && limit > 0 ? limit : otherwise;
}

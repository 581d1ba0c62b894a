import type { ReadOptions } from './hub.ts';
import type { PagingMode } from '../core/hub-events.ts';
import type { NextLink } from './link.ts';
import { filterText, modifiedAfterFilter, resourceUrl, withLimit, withQuery } from './request-url.ts';

/** The start of the next page within the collection. */
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

/**
 * Returns the address of a page. `limitBefore`: of the page before, which a link may repeat. `sort` requests the order by
 * `sourcedId` if the mode needs it.
 */
export function pageUrl(options: {
  baseUrl: URL;
  read: ReadOptions;
  mode: PagingMode;
  position: Position;
  limit: number;
  limitBefore: number | null;
  sort: boolean;
}): URL {
  const { baseUrl, read, mode, position, limit, limitBefore, sort } = options;
  if (position.kind === 'follow') {
    const { link } = position;
    // An opaque link may count in pages of its own limit, so its limit must stay. An offset or cursor allows another.
    return link.carries === 'opaque' ? link.url : withLimit(link.url, limit, limitBefore);
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

/** Returns the limit in an address. */
export function limitOf(url: URL, otherwise: number): number {
  const limit = Number(url.searchParams.get('limit'));
  return Number.isInteger(limit) && limit > 0 ? limit : otherwise;
}

import type { CollectionQuery } from './collection-query.ts';

export type Relation = 'first' | 'prev' | 'next' | 'last';
export type PageLinks = Partial<Record<Relation, string>>;

/**
 * Addresses of the neighbouring pages (spec 4.3 rule 8).
 *
 * @param address of the collection, without query
 * @param lastId `sourcedId` of the page's last row
 */
export function pageLinks(options: {
  address: string;
  parameters: URLSearchParams;
  query: CollectionQuery;
  total: number;
  more: boolean;
  lastId: string | undefined;
}): PageLinks {
  const { query, total, more } = options;
  const link = (changes: Record<string, string>, dropped: readonly string[]): string => {
    const parameters = new URLSearchParams(options.parameters);
    for (const name of dropped) parameters.delete(name);
    parameters.set('limit', String(query.limit));
    for (const [name, value] of Object.entries(changes)) parameters.set(name, value);
    return `${options.address}?${parameters.toString().replaceAll('+', '%20')}`;
  };
  if (query.mode === 'keyset') {
    const dropped = ['offset', 'sort', 'orderBy', 'afterSourcedId'];
    const links: PageLinks = { first: link({ offset: '0' }, dropped) };
    if (more && options.lastId !== undefined) links.next = link({ afterSourcedId: options.lastId }, dropped);
    return links;
  }
  const offset = (value: number): string => link({ offset: String(value) }, ['afterSourcedId']);
  const links: PageLinks = {
    first: offset(0),
    last: offset(Math.max(0, Math.floor((total - 1) / query.limit) * query.limit)),
  };
  if (query.offset > 0) links.prev = offset(Math.max(0, query.offset - query.limit));
  if (more) links.next = offset(query.offset + query.limit);
  return links;
}

/** The `Link` header (RFC 8288, which replaced RFC 5988). */
export function linkHeader(links: PageLinks): string {
  const relations: Relation[] = ['first', 'prev', 'next', 'last'];
  return relations
    .flatMap((relation) => (links[relation] === undefined ? [] : [`<${links[relation]}>; rel="${relation}"`]))
    .join(', ');
}

import LinkHeader from 'http-link-header';

/** A `rel="next"` that may be followed. */
export interface NextLink {
  readonly url: URL;
  /** What it goes on by: `afterSourcedId`, `offset`, or something only the hub understands. */
  readonly carries: 'cursor' | 'offset' | 'opaque';
  /** Its `afterSourcedId`. */
  readonly cursor: string | null;
}

export type WayOut =
  | 'another host'
  | 'another scheme'
  | 'another port'
  | 'another path'
  | 'an address with credentials';

export interface PageLinks {
  /** The page has links of paging (first, prev, next, last) at all: only then does a missing next mean anything. */
  readonly paging: boolean;
  /** A next page is offered, by whatever address. */
  readonly nextOffered: boolean;
  readonly next: NextLink | null;
  /** How a next link leads out of the hub, null when it does not; it is never followed (the token would leak). */
  readonly leadsOut: WayOut | null;
}

const NONE: PageLinks = { paging: false, nextOffered: false, next: null, leadsOut: null };
const PAGING_RELATIONS = new Set(['first', 'prev', 'previous', 'next', 'last']);

function comparablePath(url: URL): string {
  try {
    return decodeURIComponent(url.pathname).replace(/\/+$/, '');
  } catch {
    return url.pathname;
  }
}

function usableNext(url: URL, requested: URL): NextLink | null {
  if (comparablePath(url) !== comparablePath(requested)) return null;
  if (url.searchParams.get('filter') !== requested.searchParams.get('filter')) return null;
  const cursor = url.searchParams.get('afterSourcedId');
  if (cursor !== null && cursor !== '') return { url, carries: 'cursor', cursor };
  return { url, carries: url.searchParams.has('offset') ? 'offset' : 'opaque', cursor: null };
}

/**
 * How an address leads out of the hub, where the token must not go; null when it does not. The address itself is not
 * repeated in errors and logs: the hub may put anything into it (invariant 9).
 */
export function wayOut(url: URL, baseUrl: URL): WayOut | null {
  if (url.hostname !== baseUrl.hostname) return 'another host';
  if (url.protocol !== baseUrl.protocol) return 'another scheme';
  if (url.port !== baseUrl.port) return 'another port';
  if (url.username !== '' || url.password !== '') return 'an address with credentials';
  const prefix = baseUrl.pathname.replace(/\/*$/, '/');
  return url.pathname.startsWith(prefix) ? null : 'another path';
}

/**
 * Reads a `Link` header (RFC 8288; spec 4.3 rule 8). Relative links count from the request.
 * A header that cannot be read counts as none: it must not look like the end of the collection.
 */
export function readLinks(header: string | null, options: { requested: URL; baseUrl: URL }): PageLinks {
  if (header === null || header.trim() === '') return NONE;
  const { requested, baseUrl } = options;
  let references: readonly { uri: string; rel?: string }[];
  try {
    references = LinkHeader.parse(header).refs;
  } catch {
    return NONE;
  }
  const relations = references.map(({ rel }) => (typeof rel === 'string' ? rel.toLowerCase() : ''));
  if (!relations.some((rel) => PAGING_RELATIONS.has(rel))) return NONE;
  const target = references[relations.indexOf('next')];
  if (target === undefined) return { ...NONE, paging: true };
  const offered: PageLinks = { paging: true, nextOffered: true, next: null, leadsOut: null };
  const url = URL.parse(target.uri, requested.href);
  if (url === null) return offered;
  const leadsOut = wayOut(url, baseUrl);
  if (leadsOut !== null) return { ...offered, leadsOut };
  return { ...offered, next: usableNext(url, requested) };
}

import LinkHeader from 'http-link-header';

/** A `rel="next"` that may be followed. */
export interface NextLink {
  readonly url: URL;
  /** What it goes on by: `afterSourcedId`, `offset`, or something only the hub understands. */
  readonly carries: 'cursor' | 'offset' | 'opaque';
  /** Its `afterSourcedId`. */
  readonly cursor: string | null;
}

export interface PageLinks {
  /** The page has links of paging (first, prev, next, last) at all: only then does a missing next mean anything. */
  readonly paging: boolean;
  /** A next page is offered, by whatever address. */
  readonly nextOffered: boolean;
  readonly next: NextLink | null;
  /** Origin of a next link that leads out of the hub; it is never followed (the token would leak). */
  readonly foreignOrigin: string | null;
}

const NONE: PageLinks = { paging: false, nextOffered: false, next: null, foreignOrigin: null };
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

/** Whether an address leads out of the hub: the token must not go there. */
export function isForeign(url: URL, baseUrl: URL): boolean {
  if (url.origin !== baseUrl.origin || url.username !== '' || url.password !== '') return true;
  const prefix = baseUrl.pathname.replace(/\/*$/, '/');
  return !url.pathname.startsWith(prefix);
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
  const offered: PageLinks = { paging: true, nextOffered: true, next: null, foreignOrigin: null };
  const url = URL.parse(target.uri, requested.href);
  if (url === null) return offered;
  if (isForeign(url, baseUrl)) return { ...offered, foreignOrigin: url.origin };
  return { ...offered, next: usableNext(url, requested) };
}

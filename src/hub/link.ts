import type { WayOut } from '../core/hub-events.ts';
import LinkHeader from 'http-link-header';

export interface PageLinks {
  /** Whether the page has paging links (first, prev, next, last). Only then does a missing `next` prove an end. */
  readonly paging: boolean;
  /** Whether the page has a `next`, also one that leads elsewhere. */
  readonly nextOffered: boolean;
  readonly next: URL | null;
  /** How the next link leads out of the hub, null when it does not. Rollcall never follows such a link: the token would leak. */
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

function isOfSameList(url: URL, requested: URL): boolean {
  return (
    comparablePath(url) === comparablePath(requested) &&
    url.searchParams.get('filter') === requested.searchParams.get('filter')
  );
}

/**
 * Returns how an address leads out of the hub, where the token must not go; null when it does not. Errors and logs do
 * not quote the address: the hub may put anything into it (invariant 9).
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
 * Reads a `Link` header (RFC 8288; spec 4.3 rule 8). Relative links are relative to the request's address.
 * An unreadable header counts as absent: it must not look like the end of the collection.
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
  return isOfSameList(url, requested) ? { ...offered, next: url } : offered;
}

import LinkHeader from 'http-link-header';

export interface PageLinks {
  /** Whether the page has paging links (first, prev, next, last). Only then does a missing `next` prove an end. */
  readonly paging: boolean;
  /** The target of `rel="next"`, as the header has it. */
  readonly next: string | null;
}

const NONE: PageLinks = { paging: false, next: null };
const PAGING_RELATIONS = new Set(['first', 'prev', 'previous', 'next', 'last']);

/**
 * Reads a `Link` header (RFC 8288; spec 4.3 rule 8). An unreadable header counts as absent: it must not look like the end
 * of the collection.
 */
export function readLinks(header: string | null): PageLinks {
  let references: readonly { uri: string; rel?: string }[];
  try {
    references = LinkHeader.parse(header ?? '').refs;
  } catch {
    return NONE;
  }
  const relations = references.map(({ rel }) => (typeof rel === 'string' ? rel.toLowerCase() : ''));
  if (!relations.some((rel) => PAGING_RELATIONS.has(rel))) return NONE;
  return { paging: true, next: references[relations.indexOf('next')]?.uri ?? null };
}

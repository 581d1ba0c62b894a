import type { HubAnswer } from './hub-answer.ts';
import type { HubPage, ReadOptions } from './hub.ts';
import { readLinks, type PageLinks } from './link.ts';
import { listIn, markOf, readableId } from './page-body.ts';
import { requireBoundedRows } from './page-bounds.ts';
import type { PageFacts } from './paging-decision.ts';
import { limitOf } from './scan-request.ts';

/** A page of a collection, with the facts that decide the next request. */
export interface FetchedPage {
  readonly page: HubPage;
  readonly facts: PageFacts;
  readonly links: PageLinks;
}

/** Reads an answer as a page. Throws HUB_BODY_INVALID when it is no collection, HUB_PAGE_TOO_LONG with too many rows. */
export function readPage(
  answer: HubAnswer,
  context: { baseUrl: URL; read: ReadOptions; limit: number; where: string },
) {
  const { baseUrl, read, limit, where } = context;
  const { body, isUtf8, total, status, hubTimeMs, readVersion, bytes, requested } = answer;
  // Some hubs answer 204 for an empty collection.
  const list = status === 204 ? [] : listIn(body, { envelope: read.collection.envelope, where });
  const rows = list ?? [];
  requireBoundedRows(rows.length, { limit: limitOf(requested, limit), where });
  const links = readLinks(answer.link, { requested, baseUrl });
  const ids = rows.map(readableId).filter((id) => id !== null);
  const facts: PageFacts = {
    hasList: list !== null,
    rowCount: rows.length,
    limit: limitOf(requested, limit),
    ids,
    mark: markOf(rows),
    total,
    paging: links.paging,
    nextOffered: links.nextOffered,
    next: links.next,
  };
  return { page: { rows, isUtf8, hubTimeMs, total, readVersion, bytes }, facts, links };
}

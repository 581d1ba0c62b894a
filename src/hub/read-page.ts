import type { RememberedPage } from '../core/pages/page-memory.ts';
import { proveDigest, type PagePrint } from '../core/pages/page-print.ts';
import type { HubAnswer } from './hub-answer.ts';
import { LARGE_BYTES } from './hub-error.ts';
import type { HubPage, ReadOptions } from './hub.ts';
import { KnownPage } from './known-page.ts';
import { readLinks, type PageLinks } from './link.ts';
import { listIn, markOf, markOfId, readableId } from './page-body.ts';
import { requireBoundedRows } from './page-bounds.ts';
import type { PageFacts } from './paging-decision.ts';
import { limitOf } from './scan-request.ts';

/** A page of a collection, with the facts that decide the next request. */
export interface FetchedPage {
  readonly page: HubPage;
  readonly facts: PageFacts;
  readonly links: PageLinks;
}

/** Reads an answer, which scan.ts has requested, as a page. Throws HUB_BODY_INVALID when it is no collection, HUB_PAGE_TOO_LONG with too many rows. */
export function readPage(
  answer: HubAnswer,
  context: { baseUrl: URL; read: ReadOptions; limit: number; where: string; cursor?: string | null },
): FetchedPage {
  const { baseUrl, read, limit, where, cursor } = context;
  if (answer.known !== null) return readKnownPage(answer, answer.known, context);
  const { body, isUtf8, total, status, hubTimeMs, readVersion, bytes, requested } = answer;
  const { envelope } = read.collection;
  // Some hubs answer 204 for an empty collection.
  const list = status === 204 ? [] : listIn(body, { envelope, where });
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
  // A large one is not remembered, since its text would stay in memory, and no request before its turn may ask for it.
  const canBeKnown =
    cursor !== undefined && isUtf8 && rows.length > 0 && ids.length === rows.length && bytes <= LARGE_BYTES;
  const print = canBeKnown
    ? () => printOf(answer, { cursor, limit: facts.limit, ids, envelope, where })
    : undefined;
  return { page: { rows, isUtf8, hubTimeMs, total, readVersion, bytes, print }, facts, links };
}

/** Every row of a page that was recognised has its id as before, and no two pages of that scan shared one. */
function readKnownPage(
  answer: HubAnswer,
  known: RememberedPage,
  context: { baseUrl: URL; read: ReadOptions; limit: number; where: string },
): FetchedPage {
  const { baseUrl, read, limit, where } = context;
  const { requested, total } = answer;
  const links = readLinks(answer.link, { requested, baseUrl });
  const facts: PageFacts = {
    hasList: true,
    rowCount: known.rows,
    limit: limitOf(requested, limit),
    ids: [known.lastId],
    allIds: known.keys.lookup(),
    mark: markOfId(known.firstId),
    total,
    paging: links.paging,
    nextOffered: links.nextOffered,
    next: links.next,
  };
  return { page: new KnownPage(known, answer, { envelope: read.collection.envelope, where }), facts, links };
}

function printOf(
  { raw, requested, bytes }: HubAnswer,
  page: { cursor: string | null; limit: number; ids: readonly string[]; envelope: string; where: string },
): PagePrint | null {
  const { cursor, limit, ids, envelope, where } = page;
  const digest = proveDigest(raw, (body) => listIn(body, { envelope, where }) ?? []);
  return digest === null ? null : { cursor, address: requested.href, limit, bytes, digest, ids };
}

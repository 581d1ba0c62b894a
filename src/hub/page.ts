import { proveDigest } from '../core/pages/page-fingerprint.ts';
import { parseBody, type HubAnswer } from './hub-answer.ts';
import { HubError, LARGE_BYTES } from './hub-error.ts';
import type { HubPage, ReadOptions } from './hub.ts';
import { readLinks } from './link.ts';
import { requireBoundedRows } from './page-bounds.ts';
import type { PageFacts } from './paging.ts';

/** A page of a collection, with the facts that decide the next request. */
export interface FetchedPage {
  readonly page: HubPage;
  readonly facts: PageFacts;
}

export interface PageContext {
  readonly collection: ReadOptions['collection'];
  /** Names the collection in errors. */
  readonly where: string;
  readonly limit: number;
  /** Leaves out the hub's total (`hub.totals: ignored`). */
  readonly ignoresTotals?: boolean | undefined;
  /** The cursor of a page that is to be remembered, null for the first one; left out for any other page. */
  readonly cursor?: string | null | undefined;
}

/** Reads an answer as a page. Throws HUB_BODY_INVALID when it is not a collection, HUB_PAGE_TOO_LONG with too many rows. */
export function readPage(answer: HubAnswer, context: PageContext): FetchedPage {
  const { collection, where, limit } = context;
  const { link, requested, known, hubTimeMs, readVersion, bytes, total } = answer;
  const { paging, next } = readLinks(link);
  const nextUrl = next === null ? null : URL.parse(next, requested.href);
  const common = { limit, total, paging, nextOffered: next !== null, nextQuery: nextUrl?.searchParams };
  const ofAnswer = { hubTimeMs, total: context.ignoresTotals === true ? null : total, readVersion, bytes };
  const list = { envelope: collection.envelope, where };
  if (known !== null) {
    // The rows of a recognised page are parsed only if somebody reads them.
    const page: HubPage = {
      known,
      isUtf8: true,
      ...ofAnswer,
      get rows() {
        return rowsIn(answer.raw, list);
      },
    };
    const facts = { ...common, hasList: true, rowCount: known.rows, ids: [known.lastId], marks: known.keys };
    return { page, facts };
  }
  // Some hubs answer 204 for an empty collection, others null in place of the list, with a total of 0.
  const named = (answer.body as Record<string, unknown> | null | undefined)?.[collection.envelope];
  const isEmpty = answer.status === 204 || (answer.total === 0 && named === null);
  const found = isEmpty ? [] : listIn(answer.body, list);
  const rows = found ?? [];
  requireBoundedRows(rows.length, { limit, where });
  const ids = idsOf(rows);
  const haveIds = ids.length === rows.length;
  const marks = new Set(haveIds ? ids : rows.map((row) => readableId(row) ?? JSON.stringify(row)));
  const facts = { ...common, hasList: found !== null, rowCount: rows.length, ids, marks };
  const fingerprint = haveIds ? fingerprintOf(answer, context, rows) : undefined;
  return { page: { rows, isUtf8: answer.isUtf8, ...ofAnswer, fingerprint }, facts };
}

/** `envelope`: the name of the list; `where` names the collection in errors. */
type ListPlace = { readonly envelope: string; readonly where: string };

const rowsIn = (text: Buffer, list: ListPlace): readonly unknown[] =>
  listIn(parseBody(text.toString('utf8')), list) ?? [];

function idsOf(rows: readonly unknown[]): string[] {
  return rows.map(readableId).filter((id) => id !== null);
}

/** What a page can be recognised by in the next full sync. */
function fingerprintOf(
  answer: HubAnswer,
  context: PageContext,
  rows: readonly unknown[],
): HubPage['fingerprint'] {
  const { raw, requested, bytes, isUtf8 } = answer;
  const { limit, cursor } = context;
  // A large page is not remembered: its text would stay in memory, and no request before its turn may ask for it.
  if (cursor === undefined || !isUtf8 || rows.length === 0 || bytes > LARGE_BYTES) return undefined;
  return () => {
    const digest = proveDigest(raw, rows);
    return digest === null
      ? null
      : { cursor, address: requested.href, limit, bytes, digest, ids: idsOf(rows) };
  };
}

/** Properties that may be lists but are never the collection. */
const NOT_A_COLLECTION = new Set(['errors', 'warnings', 'messages', 'links', '_links']);

function invalid(where: string, what: string): HubError {
  return new HubError('HUB_BODY_INVALID', `Cannot read ${where}: ${what}`, {
    remedy: 'If this continues, check hub.baseUrl, and what the hub answers at this address.',
  });
}

/**
 * Returns the list in a collection's body: the body itself if it is a list, else the list under `envelope`, else the
 * only list in it. Null when the body has no list, which proves nothing about the hub's rows (OneRoster 1.2: the
 * collection property is optional in the standard's schema). Throws HUB_BODY_INVALID when the body is no collection.
 */
export function listIn(body: unknown, { envelope, where }: ListPlace): readonly unknown[] | null {
  if (body === null || body === undefined) return null;
  if (Array.isArray(body)) return body as readonly unknown[];
  if (typeof body !== 'object') throw invalid(where, 'the answer is JSON but neither an object nor a list');
  const named: unknown = Object.hasOwn(body, envelope)
    ? (body as Record<string, unknown>)[envelope]
    : undefined;
  if (Array.isArray(named)) return named as readonly unknown[];
  if (named !== undefined && named !== null) throw invalid(where, `its "${envelope}" is not a list`);
  const lists = Object.entries(body).filter(
    (entry): entry is [string, unknown[]] =>
      Array.isArray(entry[1]) && !NOT_A_COLLECTION.has(entry[0]) && !entry[0].startsWith('imsx_'),
  );
  return lists.length === 1 ? (lists[0]?.[1] ?? null) : null;
}

/**
 * Returns a row's `sourcedId`; null when it is missing, empty or not text. A text with a lone surrogate counts as no
 * text.
 */
export function readableId(row: unknown): string | null {
  if (typeof row !== 'object' || row === null || !Object.hasOwn(row, 'sourcedId')) return null;
  const id: unknown = (row as Record<string, unknown>)['sourcedId'];
  return typeof id === 'string' && id !== '' && id.isWellFormed() ? id : null;
}

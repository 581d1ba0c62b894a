import type { Listing } from '../district/row-store.ts';
import { bytesOf, indexAfter, objectOf } from '../district/row-store.ts';
import type { Row } from '../district/row.ts';
import type { JsonObject } from '../json.ts';
import type { CollectionQuery } from './collection-query.ts';
import { readQuery } from './collection-query.ts';
import type { Fault, FaultContext, Page } from './faults/fault.ts';
import type { Comparison } from './filter.ts';
import { linkHeader, pageLinks } from './page-links.ts';
import { selectPage } from './page-selection.ts';
import type { Reply } from './reply.ts';

/** A fault together with what it needs to know about the request it meets. */
export interface MetFault {
  readonly fault: Fault;
  readonly context: FaultContext;
}

export interface CollectionRequest {
  readonly listing: Listing;
  readonly envelope: string;
  readonly fields: readonly string[];
  readonly keysetOffered: boolean;
  /** As the client addressed the hub, so that links lead back there. */
  readonly url: URL;
  readonly faults: readonly MetFault[];
}

/** A page of a collection (spec 4.2, 4.3). @throws RequestRefused */
export function serveCollection(request: CollectionRequest): Reply {
  const { listing, url, faults } = request;
  const parameters = new URLSearchParams(url.searchParams);
  for (const { fault, context } of faults) fault.parameters?.(parameters, context);
  const query = readQuery(parameters, { keysetOffered: request.keysetOffered, fields: request.fields });
  const links = { ...query };
  for (const { fault, context } of faults) fault.query?.(query, context);
  const selected = selectPage(listing, { query, fields: request.fields, comparison: comparisonOf(faults) });
  // An offset step goes by the rows really given, so that a clamped limit skips none; the link shows what was asked for.
  const linkQuery: CollectionQuery = query.mode === 'keyset' ? links : query;
  const page: Page = {
    rows: renderRows(selected.rows, { listing, query, faults }),
    envelope: request.envelope,
    total: selected.total,
    unfilteredTotal: listing.rows.length,
    remainingTotal: remaining(listing, query),
    links: pageLinks({
      address: `${url.origin}${url.pathname}`,
      parameters: url.searchParams,
      query: linkQuery,
      total: selected.total,
      more: selected.more,
      lastId: selected.rows.at(-1)?.id,
    }),
    status: 200,
  };
  for (const { fault, context } of faults) fault.page?.(page, context);
  return pageReply(page);
}

/** Rows as the hub sends them, each after a comma; faults and `fields` take the slow way through objects. */
export function renderRows(
  rows: readonly Row[],
  options: { listing: Listing; query?: CollectionQuery | undefined; faults: readonly MetFault[] },
): Buffer[] {
  const { store } = options.listing;
  const fields = options.query?.fields;
  const changing = options.faults.filter(
    ({ fault }) => fault.row !== undefined || fault.rowText !== undefined,
  );
  if (changing.length === 0 && fields === undefined) return rows.map((row) => bytesOf(store, row));
  return rows.map((row) => Buffer.from(`,${changedRow(projected(objectOf(store, row), fields), changing)}`));
}

/** A row's JSON after all row faults. */
export function changedRow(row: JsonObject, faults: readonly MetFault[]): string {
  let changed = row;
  for (const { fault, context } of faults) changed = fault.row?.(changed, context) ?? changed;
  let text = JSON.stringify(changed);
  for (const { fault, context } of faults) text = fault.rowText?.(text, context) ?? text;
  return text;
}

function projected(row: JsonObject, fields: readonly string[] | undefined): JsonObject {
  if (fields === undefined) return row;
  return Object.fromEntries(Object.entries(row).filter(([field]) => fields.includes(field)));
}

function comparisonOf(faults: readonly MetFault[]): Comparison {
  const comparison = { textTimestamps: false, hiddenMicroseconds: false };
  for (const { fault } of faults) Object.assign(comparison, fault.comparison);
  return comparison;
}

function remaining(listing: Listing, query: CollectionQuery): number {
  return (
    listing.rows.length - (query.after === undefined ? query.offset : indexAfter(listing.rows, query.after))
  );
}

function pageReply(page: Page): Reply {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };
  if (page.total !== undefined) headers['x-total-count'] = String(page.total);
  const link = linkHeader(page.links);
  if (link !== '') headers['link'] = link;
  if (page.status === 204) return { status: 204, headers, body: Buffer.alloc(0) };
  if (page.envelope === undefined) return { status: page.status, headers, body: Buffer.from('{}') };
  return { status: page.status, headers, body: joined(page.rows, page.envelope) };
}

/** One allocation, one copy per row; the first row loses its comma. */
function joined(rows: readonly Buffer[], envelope: string): Buffer {
  const head = Buffer.from(`{${JSON.stringify(envelope)}:[`);
  let size = head.length + 2;
  for (const row of rows) size += row.length;
  const body = Buffer.allocUnsafe(rows.length === 0 ? size : size - 1);
  let end = head.copy(body);
  for (const [index, row] of rows.entries()) end += row.copy(body, end, index === 0 ? 1 : 0);
  body.write(']}', end, 'latin1');
  return body;
}

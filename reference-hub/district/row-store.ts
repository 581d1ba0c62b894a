import type { JsonObject, JsonValue } from '../json.ts';
import { isJsonObject } from '../json.ts';
import type { Row } from './row.ts';
import { fullRow, renderedRow } from './row.ts';

/** Builds generated rows from their numbers. */
export interface RowBuilder {
  build(index: number): JsonObject;
  /** A field's text, or the id it refers to, without building the row; undefined: build it and look. */
  peek?: ((index: number, field: string) => string | undefined) | undefined;
}

/** Rows of one kind with what builds them. */
export interface Generated {
  readonly builder: RowBuilder;
  readonly rows: Row[];
}

/** The rows of one kind, and what they share: the builder and the nightly re-stamp. */
export interface RowStore {
  readonly builder: RowBuilder;
  /** Counts re-stamps, so that re-stamping everything touches no row. */
  epoch: number;
  restampedAtMs: number;
  /** The size of the row texts that are kept, in bytes. */
  keptBytes: number;
}

/**
 * The limit of the row texts that are kept, enough for about a quarter of a million rows. Other rows are built again
 * for each page.
 */
const MOST_KEPT_BYTES = 256 * 1_048_576;

/** Rows in the order of their ids (UTF-16 code units, which for ids is Unicode order): a collection or a part of one. */
export interface Listing {
  readonly store: RowStore;
  rows: Row[];
  /** Grows with every change, so that cached selections know when they are stale. */
  version: number;
  readonly selections: Map<string, { readonly version: number; readonly rows: readonly Row[] }>;
}

export function createStore(builder: RowBuilder, restampedAtMs: number): RowStore {
  return { builder, epoch: 0, restampedAtMs, keptBytes: 0 };
}

export function createListing(store: RowStore, rows: Row[]): Listing {
  return { store, rows: sortedById(rows), version: 0, selections: new Map() };
}

/** Ids are mostly random, so sorting them by their first three characters first leaves little to compare. */
function sortedById(rows: Row[]): Row[] {
  const buckets = new Map<string, Row[]>();
  for (const row of rows) {
    const prefix = row.id.slice(0, 3);
    const bucket = buckets.get(prefix);
    if (bucket === undefined) buckets.set(prefix, [row]);
    else bucket.push(row);
  }
  const sorted: Row[] = [];
  for (const prefix of [...buckets.keys()].toSorted(byCodeUnits)) {
    const bucket = buckets.get(prefix) ?? [];
    bucket.sort((left, right) => byCodeUnits(left.id, right.id));
    for (const row of bucket) sorted.push(row);
  }
  return sorted;
}

function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export function stampOf(store: RowStore, row: Row): number {
  return row.epoch === store.epoch ? row.stampMs : store.restampedAtMs;
}

export function contentOf(store: RowStore, row: Row): JsonObject {
  return typeof row.content === 'number' ? store.builder.build(row.content) : row.content;
}

export function objectOf(store: RowStore, row: Row): JsonObject {
  return fullRow(row.id, { content: contentOf(store, row), stampMs: stampOf(store, row) });
}

/** `,{…}`: the row's JSON after a comma, valid until the row changes or is re-stamped. */
export function bytesOf(store: RowStore, row: Row): Buffer {
  const stampMs = stampOf(store, row);
  if (row.bytes !== undefined)
    return row.renderedMs === stampMs ? row.bytes : renderedRow(row, { content: {}, stampMs });
  const bytes = renderedRow(row, { content: contentOf(store, row), stampMs });
  if (store.keptBytes + bytes.length > MOST_KEPT_BYTES) row.bytes = undefined;
  else store.keptBytes += bytes.length;
  return bytes;
}

/** A field's text, or the `sourcedId` it refers to, as cheaply as possible. */
export function peekAt(store: RowStore, row: Row, field: string): string | undefined {
  if (typeof row.content === 'number') {
    const text = store.builder.peek?.(row.content, field);
    if (text !== undefined) return text;
  }
  const value = contentOf(store, row)[field];
  return typeof value === 'string' ? value : referencedId(value);
}

export function referencedId(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value)) return undefined;
  return typeof value['sourcedId'] === 'string' ? value['sourcedId'] : undefined;
}

/** Index of the first row whose id sorts after `id`. */
export function indexAfter(rows: readonly Row[], id: string): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && row.id <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function findRow(listing: Listing, id: string): Row | undefined {
  const row = listing.rows[indexAfter(listing.rows, id) - 1];
  return row?.id === id ? row : undefined;
}

export function insertRow(listing: Listing, row: Row): void {
  const index = indexAfter(listing.rows, row.id);
  if (listing.rows[index - 1]?.id === row.id) listing.rows[index - 1] = row;
  else listing.rows.splice(index, 0, row);
  listing.version += 1;
}

export function removeRow(listing: Listing, id: string): boolean {
  const index = indexAfter(listing.rows, id) - 1;
  if (listing.rows[index]?.id !== id) return false;
  listing.rows.splice(index, 1);
  listing.version += 1;
  return true;
}

/** Puts new content into a row; `stampMs` undefined leaves `dateLastModified` as it is. */
export function setContent(
  store: RowStore,
  row: Row,
  change: { content: JsonObject; stampMs: number | undefined },
): void {
  const before = stampOf(store, row);
  row.content = change.content;
  row.stampMs = change.stampMs ?? before;
  row.epoch = store.epoch;
  store.keptBytes -= row.bytes?.length ?? 0;
  row.bytes = undefined;
}

/** Spec section 1 rule 3: every entity gets the synchronisation's time. Costs nothing per row. */
export function restampStore(store: RowStore, atMs: number): void {
  store.epoch += 1;
  store.restampedAtMs = atMs;
}

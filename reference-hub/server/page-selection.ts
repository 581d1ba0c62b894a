import type { JsonValue } from '../json.ts';
import { valuesAt } from '../json.ts';
import type { Row } from '../district/row.ts';
import type { Listing } from '../district/row-store.ts';
import { findRow, indexAfter, objectOf } from '../district/row-store.ts';
import type { CollectionQuery } from './collection-query.ts';
import type { Comparison } from './filter.ts';
import { compileFilter, parseFilter, soughtId } from './filter.ts';

/** How many filtered or sorted selections of a collection are kept until it changes. */
const KEPT_SELECTIONS = 8;

export interface SelectedPage {
  readonly rows: readonly Row[];
  /** Rows that match the filter, wherever the page begins (spec 4.3 rule 6). */
  readonly total: number;
  /** Whether rows follow this page. */
  readonly more: boolean;
}

/** The page a query asks for (spec 4.3 rules 1 to 5). */
export function selectPage(
  listing: Listing,
  options: { query: CollectionQuery; fields: readonly string[]; comparison: Comparison },
): SelectedPage {
  const { query } = options;
  const matching = matchingRows(listing, options);
  if (query.mode === 'keyset') {
    const start = query.after === undefined ? 0 : indexAfter(matching, query.after);
    return pageFrom(matching, { start, limit: query.limit });
  }
  return pageFrom(sortedRows(listing, { ...options, matching }), { start: query.offset, limit: query.limit });
}

function pageFrom(rows: readonly Row[], options: { start: number; limit: number }): SelectedPage {
  const end = options.start + options.limit;
  return { rows: rows.slice(options.start, end), total: rows.length, more: end < rows.length };
}

function matchingRows(
  listing: Listing,
  options: { query: CollectionQuery; fields: readonly string[]; comparison: Comparison },
): readonly Row[] {
  const text = options.query.filter;
  if (text === undefined || text === '') return listing.rows;
  const filter = parseFilter(text, options.fields);
  const id = soughtId(filter);
  if (id !== undefined) return [findRow(listing, id)].filter((row) => row !== undefined);
  const key = `filter ${JSON.stringify(options.comparison)} ${text}`;
  return kept(listing, key, () => {
    const matches = compileFilter(filter, { store: listing.store, comparison: options.comparison });
    return listing.rows.filter((row) => matches(row));
  });
}

function sortedRows(
  listing: Listing,
  options: { query: CollectionQuery; matching: readonly Row[]; comparison: Comparison },
): readonly Row[] {
  const { sort, descending, filter } = options.query;
  if (sort === undefined && !descending) return options.matching;
  if (sort === 'sourcedId' && !descending) return options.matching;
  const key = `sort ${sort ?? ''} ${String(descending)} ${JSON.stringify(options.comparison)} ${filter ?? ''}`;
  return kept(listing, key, () => {
    const path = (sort ?? 'sourcedId').split('.');
    const keyed = options.matching.map((row) => ({
      row,
      value: valuesAt(objectOf(listing.store, row), path)[0],
    }));
    // Ties stay in the order of ids whatever the direction, so that offset pages fit together.
    keyed.sort((left, right) =>
      descending ? compare(right.value, left.value) : compare(left.value, right.value),
    );
    return keyed.map((item) => item.row);
  });
}

function compare(left: JsonValue | undefined, right: JsonValue | undefined): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  const leftText = sortText(left);
  const rightText = sortText(right);
  return leftText < rightText ? -1 : leftText > rightText ? 1 : 0;
}

function sortText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function kept(listing: Listing, key: string, select: () => readonly Row[]): readonly Row[] {
  const found = listing.selections.get(key);
  if (found?.version === listing.version) return found.rows;
  const rows = select();
  listing.selections.delete(key);
  listing.selections.set(key, { version: listing.version, rows });
  const [oldest] = listing.selections.keys();
  if (listing.selections.size > KEPT_SELECTIONS && oldest !== undefined) listing.selections.delete(oldest);
  return rows;
}

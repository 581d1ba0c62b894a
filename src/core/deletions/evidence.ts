import { countOf, formatCount, outOf } from '../words.ts';

/**
 * How the scan of one scope ended. A scope is what one scan reads: a plain collection, a class, an afterschool or a
 * student.
 */
export interface ScanEvidence {
  /** Empty for the only scope of a plain collection. */
  readonly scope: string;
  /** Why the scan ended, and how the hub paged (`ScanEnd` in hub/hub.ts). */
  readonly reason: string;
  readonly paging: string;
  /** Nothing of this scope could be read. This proves nothing about the rows of this scope, nor about other scopes. */
  readonly isUnread?: boolean;
  /**
   * All rows of the scope together are one record. So if the scan is short, no published record stands for the rows
   * that did not come, and the scan cannot count as complete.
   */
  readonly isComposed?: boolean;
  /** The rows of the pages, repeated ones included. */
  readonly rows: number;
  /** Distinct rows, unreadable ones included. */
  readonly distinctRows: number;
  readonly rowsWithoutId: number;
  /** The hub's total on the first page, and on the last; null: it sent none. */
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
}

/** How many rows came, without the repeated ones, and how many the hub counts. */
export interface Shortfall {
  readonly rows: number;
  readonly total: number;
  readonly repeated: number;
}

/** Such as `120 of 122 rows were returned, 2 of them twice`. */
export function explainShort({ rows, total, repeated }: Shortfall): string {
  const twice = repeated === 0 ? '' : `, ${formatCount(repeated)} of them twice`;
  return `${outOf(rows, total)} rows were returned${twice}`;
}

/** The two ways out for a hub that counts more rows than it returns. */
export const SHORT_REMEDY =
  'Choose another hub.paging. Set hub.totals to "ignored" only if the people who run the hub say that its total counts rows that it never returns: with this setting, rows that a scan skips by mistake are removed.';

/** What to do after a short full sync that is complete, because all rows that did not come are published. */
export const COVERED_REMEDY =
  'Ask the people who run the hub which rows it counts and does not return. Rows that have left the hub are removed once a full sync brings as many rows as the hub counts.';

/** Why a complete full sync removes none of the rows that it did not find, and what to do; null: it does remove them. */
export function removalsWait(nameless: number, short: Shortfall | null) {
  const of = short && `the hub shows ${short.rows} of the ${short.total} rows that it counts`;
  if (of !== null) return { why: `removals wait, because ${of}`, remedy: COVERED_REMEDY };
  if (nameless === 0) return null;
  const why = 'removals wait, because rows without a readable sourcedId may be the ones that are missing';
  return { why, remedy: 'Ask the people who run the hub to correct these rows.' };
}

/** What a scan proves about the rows that it did not bring. */
export type ScopeVerdict =
  /**
   * The published rows of the scope that did not come are missing. A row is removed once this many consecutive full
   * syncs have missed it.
   */
  | { readonly kind: 'complete'; readonly missesNeeded: number }
  | { readonly kind: 'short'; readonly shortfall: Shortfall; readonly isComposed: boolean }
  /** It proves nothing, because each row without an id may be one of those that did not come. */
  | { readonly kind: 'nameless'; readonly why: string }
  | { readonly kind: 'inconclusive'; readonly why: string; readonly isUnread: boolean };

export const MISSES_NEEDED = 2;
/** While rows come and go, the offset scans of two syncs may skip the same row. */
const MISSES_NEEDED_BY_OFFSET = 3;

/**
 * Reasons for the end of a scan that prove nothing. Every other reason is the hub's own sign that there are no more
 * rows.
 */
const INCONCLUSIVE: Readonly<Record<string, string>> = {
  'missing-list': 'a response had no list',
  'repeated-page': 'the hub keeps returning the same page',
};
const UNREAD =
  'the hub does not find what the rows belong to (a class, an afterschool, a student), or refuses to return the rows';

/** What a scan proves about the rows of its scope that it did not bring, whatever the paging. */
export function verdictOn(scan: ScanEvidence): ScopeVerdict {
  const { isUnread = false, isComposed = false, rowsWithoutId } = scan;
  const inconclusive = isUnread ? UNREAD : INCONCLUSIVE[scan.reason];
  if (inconclusive !== undefined) return { kind: 'inconclusive', why: inconclusive, isUnread };
  const shortfall = shortfallOf(scan);
  if (shortfall !== null) return { kind: 'short', shortfall, isComposed };
  const nameless = countOf(rowsWithoutId, 'row has', 'rows have');
  if (rowsWithoutId > 0) return { kind: 'nameless', why: `${nameless} no readable sourcedId` };
  const missesNeeded = scan.paging === 'offset' && !hasAgreed(scan) ? MISSES_NEEDED_BY_OFFSET : MISSES_NEEDED;
  return { kind: 'complete', missesNeeded };
}

type Counted = Pick<ScanEvidence, 'distinctRows' | 'totalAtStart' | 'totalAtEnd'>;

/**
 * How many rows a scan brought, and how many the lower of the hub's two totals counts; null if the scan did not bring
 * fewer. A total that is missing or 0 says nothing.
 */
export function shortfallOf(scan: Counted & Pick<ScanEvidence, 'rows'>): Shortfall | null {
  const said = saidTotals(scan);
  const total = Math.min(...said);
  const { distinctRows } = scan;
  if (said.length === 0 || distinctRows >= total) return null;
  return { rows: distinctRows, total, repeated: Math.max(0, scan.rows - distinctRows) };
}

/** Whether the number of rows that came lies between the hub's two totals, which differ if rows come or go during the scan. */
export function hasAgreed(scan: Counted): boolean {
  const said = saidTotals(scan);
  return (
    said.length === 2 && scan.distinctRows >= Math.min(...said) && scan.distinctRows <= Math.max(...said)
  );
}

function saidTotals({ totalAtStart, totalAtEnd }: Counted): number[] {
  return [totalAtStart, totalAtEnd].filter((total) => total !== null && total > 0) as number[];
}

import { countOf, outOf } from '../words.ts';

/** How the scan of one scope ended. A scope is what one scan speaks for: a plain collection, a class, an afterschool, a student. */
export interface ScanEvidence {
  /** Empty for the only scope of a plain collection. */
  readonly scope: string;
  /**
   * `proper`: by the hub's own sign; `unread`: nothing of this scope could be read, which says nothing about other
   * scopes.
   */
  readonly ending: 'proper' | 'no-list' | 'repeated' | 'unread';
  readonly byOffset: boolean;
  /** All rows together are one record. So no row that is already published makes up for a missing row. */
  readonly isComposed: boolean;
  /** Distinct rows, unreadable ones included. */
  readonly distinctRows: number;
  /** Rows that repeat the id of an earlier one. */
  readonly repeatedRows?: number | undefined;
  readonly rowsWithoutId: number;
  /** The hub's total on the first page, and on the last; null: it sent none. */
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
}

/** How a scan ended, as the hub and the source tell it. */
export interface EndedScan extends Pick<ScanEvidence, 'totalAtStart' | 'totalAtEnd'> {
  readonly reason: string;
  readonly paging: string;
  readonly rows: number;
  /** Nothing of this parent could be read. This proves nothing about its rows, and says nothing about other parents. */
  readonly isUnread?: boolean | undefined;
  /** The number of distinct rows that the hub's totals count, if these are not the rows of the pages. */
  readonly distinctRows?: number | undefined;
}

/** What an ended scan proves. `counted`: how many distinct rows its pages have, and how many of these have no id. */
export function evidenceOf(
  scope: string,
  end: EndedScan,
  counted: Pick<ScanEvidence, 'distinctRows' | 'rowsWithoutId'>,
): ScanEvidence {
  const { totalAtStart, totalAtEnd } = end;
  const distinctRows = end.distinctRows ?? counted.distinctRows;
  return {
    ...counted,
    scope,
    ending: endingOf(end),
    byOffset: end.paging === 'offset',
    isComposed: end.distinctRows !== undefined,
    distinctRows,
    repeatedRows: Math.max(0, end.rows - distinctRows),
    totalAtStart,
    totalAtEnd,
  };
}

function endingOf({ reason, isUnread }: EndedScan): ScanEvidence['ending'] {
  if (isUnread === true) return 'unread';
  return reason === 'missing-list' ? 'no-list' : reason === 'repeated-page' ? 'repeated' : 'proper';
}

/** How many rows came, without the repeated ones, and how many the hub counts. */
export interface Shortfall {
  readonly rows: number;
  readonly total: number;
  readonly repeated: number;
}

/** Such as `120 of 122 rows came; 2 rows came twice`. */
export function explainShort({ rows, total, repeated }: Shortfall): string {
  const twice = repeated === 0 ? '' : `; ${countOf(repeated, 'row')} came twice`;
  return `${outOf(rows, total)} rows came${twice}`;
}

/** The two ways out for a hub that counts more rows than it returns. */
export const SHORT_REMEDY =
  'Choose another hub.paging. Set hub.totals: ignored only if the people who run the hub say that its total counts rows that it never returns; otherwise rows that scans skip are removed.';

/** Of a complete full sync: all rows that did not come are published. */
export const COVERED_REMEDY =
  'Ask the people who run the hub which rows it counts and does not return. Rows that have left are removed once a full sync returns as many as it counts.';

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
  /** The scan missed these rows. They are removed after this many misses in a row. */
  | { readonly kind: 'complete'; readonly missesNeeded: number }
  | { readonly kind: 'short'; readonly shortfall: Shortfall; readonly isComposed: boolean }
  /** Nothing; each row without an id may be one of them. */
  | { readonly kind: 'nameless'; readonly why: string }
  | { readonly kind: 'inconclusive'; readonly why: string; readonly isUnread: boolean };

export const MISSES_NEEDED = 2;
/** An offset scan skips the same rows again where rows before them come and go. */
const MISSES_NEEDED_BY_OFFSET = 3;

const INCONCLUSIVE = {
  'no-list': 'a response had no list',
  repeated: 'the hub keeps returning the same page',
  unread: 'the hub does not find what the rows belong to (a class, an afterschool, a student), or refuses it',
} as const;

/** What a scan proves about the rows of its scope that it did not bring, whatever the paging. */
export function verdictOn(scan: ScanEvidence): ScopeVerdict {
  const { ending, rowsWithoutId, byOffset } = scan;
  if (ending !== 'proper')
    return { kind: 'inconclusive', why: INCONCLUSIVE[ending], isUnread: ending === 'unread' };
  const shortfall = shortfallOf(scan);
  if (shortfall !== null) return { kind: 'short', shortfall, isComposed: scan.isComposed };
  const nameless = countOf(rowsWithoutId, 'row has', 'rows have');
  if (rowsWithoutId > 0) return { kind: 'nameless', why: `${nameless} no readable sourcedId` };
  const missesNeeded = byOffset && !hasAgreed(scan) ? MISSES_NEEDED_BY_OFFSET : MISSES_NEEDED;
  return { kind: 'complete', missesNeeded };
}

type Counted = Pick<ScanEvidence, 'distinctRows' | 'repeatedRows' | 'totalAtStart' | 'totalAtEnd'>;

/**
 * By how much a scan stays below the lower of the hub's two totals; null if it does not. A total that is missing, 0, or below what
 * came says nothing.
 */
export function shortfallOf(scan: Counted): Shortfall | null {
  const said = saidTotals(scan);
  const total = Math.min(...said);
  const { distinctRows: rows, repeatedRows: repeated = 0 } = scan;
  return said.length > 0 && rows < total ? { rows, total, repeated } : null;
}

/** Whether the rows that came are as many as the hub's totals say, which may differ while rows come and go. */
export function hasAgreed(scan: Counted): boolean {
  const said = saidTotals(scan);
  return (
    said.length === 2 && scan.distinctRows >= Math.min(...said) && scan.distinctRows <= Math.max(...said)
  );
}

function saidTotals({ totalAtStart, totalAtEnd }: Counted): number[] {
  return [totalAtStart, totalAtEnd].filter((total) => total !== null && total > 0) as number[];
}

/**
 * Whether a full sync has proven that it saw every row the hub has (design, "Deletions").
 * Only then may Rollcall treat the rows it did not see as deleted (invariant 3).
 */

export interface FullScan {
  /**
   * Why the scan ended: `hub-sign` is a proper end; `empty`: there was no row at all; `gone`: the hub did not find the
   * parents, so there were no rows; `no-list`: a body had no list; `repeated`: the hub kept returning the same page.
   */
  readonly ending: 'hub-sign' | 'empty' | 'gone' | 'no-list' | 'repeated';
  /** An offset scan can skip rows that move while it runs. */
  readonly byOffset: boolean;
  /** Distinct keys, including those of unreadable rows with an id. */
  readonly distinctRows: number;
  readonly rowsWithoutId: number;
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
  /** Rows published before the sync. */
  readonly knownRows: number;
}

export type Completeness =
  /** Rows that were not seen are deleted, subject to confirmation and the guard. */
  | { readonly kind: 'proven' }
  /** The scan ended properly, but no total confirms its count: a second sync must miss the same rows. */
  | {
      readonly kind: 'needs-second-sync';
      readonly why: string;
      /** The hub counts more rows than it returned. */
      readonly isShort: boolean;
    }
  /**
   * Nothing may be removed. `isInconclusive`: the rows are not a complete copy of the hub's either. `isEmpty`: the hub
   * answers properly that it has no rows; when it keeps doing so, a person may decide that this is true.
   */
  | {
      readonly kind: 'unproven';
      readonly why: string;
      readonly isInconclusive: boolean;
      readonly isEmpty?: boolean | undefined;
    };

export function judgeCompleteness(scan: FullScan): Completeness {
  if (scan.ending === 'no-list')
    return { kind: 'unproven', isInconclusive: true, why: 'a response had no list' };
  if (scan.ending === 'repeated')
    return { kind: 'unproven', isInconclusive: true, why: 'the hub keeps returning the same page' };
  if ((scan.ending === 'empty' || scan.ending === 'gone') && scan.knownRows > 0) {
    const why = `the hub returns no rows where ${scan.knownRows} are published`;
    // A hub that counts rows and returns none contradicts itself.
    const isEmpty = scan.ending === 'empty' && (scan.totalAtEnd ?? 0) === 0;
    return { kind: 'unproven', isInconclusive: true, isEmpty, why };
  }
  if (scan.rowsWithoutId > 0) {
    const why = `${scan.rowsWithoutId} rows have no readable sourcedId`;
    return { kind: 'unproven', isInconclusive: false, why };
  }
  if (scan.byOffset && isShort(scan)) {
    // A hub that skips rows in the same way each time hides the same rows from every offset scan.
    const why = `the hub counts ${scan.totalAtEnd} rows, and returned only ${scan.distinctRows} by offset`;
    return { kind: 'unproven', isInconclusive: true, why };
  }
  if (scan.byOffset) {
    return {
      kind: 'needs-second-sync',
      isShort: false,
      why: 'the hub pages by offset, which can skip rows that move',
    };
  }
  const { totalAtStart, totalAtEnd, distinctRows } = scan;
  if (totalAtStart === null || totalAtEnd === null) {
    return { kind: 'needs-second-sync', isShort: false, why: 'the hub returns no total' };
  }
  if (!countAgrees(scan)) {
    return {
      kind: 'needs-second-sync',
      isShort: isShort(scan),
      why: `${distinctRows} rows were read where the total was ${totalAtStart} at the start and ${totalAtEnd} at the end`,
    };
  }
  return { kind: 'proven' };
}

/** Whether the number of distinct rows lies between the hub's totals at the start and at the end. */
export function countAgrees(scan: Pick<FullScan, 'distinctRows' | 'totalAtStart' | 'totalAtEnd'>): boolean {
  const { totalAtStart, totalAtEnd, distinctRows } = scan;
  if (totalAtStart === null || totalAtEnd === null) return false;
  return (
    distinctRows >= Math.min(totalAtStart, totalAtEnd) && distinctRows <= Math.max(totalAtStart, totalAtEnd)
  );
}

/** Whether fewer rows were read than the lower of the hub's two totals. */
function isShort({ distinctRows, totalAtStart, totalAtEnd }: FullScan): boolean {
  return totalAtStart !== null && totalAtEnd !== null && distinctRows < Math.min(totalAtStart, totalAtEnd);
}

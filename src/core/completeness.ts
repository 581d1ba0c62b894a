/**
 * Whether a full pass has proven that it saw everything the hub holds (design, "Deletions").
 * Only then may what it did not see be taken for gone (invariant 3).
 */

export interface FullScan {
  /**
   * How the hub ended the walk: `empty` when there was no row at all, `gone` when that is because parents are not
   * there, `no-list` when a body had no list, `repeated` when it gave the same page for ever.
   */
  readonly ending: 'hub-sign' | 'empty' | 'gone' | 'no-list' | 'repeated';
  /** Rows can be skipped when they move under an offset walk. */
  readonly byOffset: boolean;
  /** Different keys, unreadable rows with an id included. */
  readonly distinctRows: number;
  readonly rowsWithoutId: number;
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
  /** Rows known from before the pass. */
  readonly knownRows: number;
}

export type Completeness =
  /** What was not seen is gone, subject to confirmation and the guard. */
  | { readonly kind: 'proven' }
  /** The walk ended well, but nothing vouches for its count: a second pass must miss the same rows. */
  | {
      readonly kind: 'needs-second-pass';
      readonly why: string;
      /** The hub counts more rows than came. */
      readonly isShort: boolean;
    }
  /**
   * No removal follows from it; `isSuspect`: nor is it a copy of what the hub holds. `isEmpty`: the hub says properly
   * that it has no rows; when it goes on saying so, a person may believe it.
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
    return { kind: 'unproven', isInconclusive: true, why: 'the hub gives the same page for ever' };
  if ((scan.ending === 'empty' || scan.ending === 'gone') && scan.knownRows > 0) {
    const why = `the hub says it has no rows where ${scan.knownRows} are known`;
    // One that counts rows and gives none contradicts itself.
    const isEmpty = scan.ending === 'empty' && (scan.totalAtEnd ?? 0) === 0;
    return { kind: 'unproven', isInconclusive: true, isEmpty, why };
  }
  if (scan.rowsWithoutId > 0) {
    const why = `${scan.rowsWithoutId} rows had no sourcedId that could be read`;
    return { kind: 'unproven', isInconclusive: false, why };
  }
  if (scan.byOffset && isShort(scan)) {
    // Rows that an offset walk skips it may skip for ever, if the hub's way of skipping is the same each time.
    const why = `only ${scan.distinctRows} rows came by offset where the hub counts ${scan.totalAtEnd}`;
    return { kind: 'unproven', isInconclusive: true, why };
  }
  if (scan.byOffset) {
    return {
      kind: 'needs-second-pass',
      isShort: false,
      why: 'the hub pages by offset, where moving rows can be skipped',
    };
  }
  const { totalAtStart, totalAtEnd, distinctRows } = scan;
  if (totalAtStart === null || totalAtEnd === null) {
    return { kind: 'needs-second-pass', isShort: false, why: 'the hub gives no total' };
  }
  if (!countAgrees(scan)) {
    return {
      kind: 'needs-second-pass',
      isShort: isShort(scan),
      why: `${distinctRows} rows were read where the total was ${totalAtStart} at the start and ${totalAtEnd} at the end`,
    };
  }
  return { kind: 'proven' };
}

/** Whether as many different rows were read as the hub says it has, give or take what changed meanwhile. */
export function countAgrees(scan: Pick<FullScan, 'distinctRows' | 'totalAtStart' | 'totalAtEnd'>): boolean {
  const { totalAtStart, totalAtEnd, distinctRows } = scan;
  if (totalAtStart === null || totalAtEnd === null) return false;
  return (
    distinctRows >= Math.min(totalAtStart, totalAtEnd) && distinctRows <= Math.max(totalAtStart, totalAtEnd)
  );
}

/** Whether fewer rows were read than the hub counted all the time. */
function isShort({ distinctRows, totalAtStart, totalAtEnd }: FullScan): boolean {
  return totalAtStart !== null && totalAtEnd !== null && distinctRows < Math.min(totalAtStart, totalAtEnd);
}

/**
 * Whether a full pass has proven that it saw everything the hub holds (design, "Deletions").
 * Only then may what it did not see be taken for gone (invariant 3).
 */

export interface FullWalk {
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
      readonly isSuspect: boolean;
      readonly isEmpty?: boolean | undefined;
    };

export function judgeCompleteness(walk: FullWalk): Completeness {
  if (walk.ending === 'no-list') return { kind: 'unproven', isSuspect: true, why: 'a response had no list' };
  if (walk.ending === 'repeated')
    return { kind: 'unproven', isSuspect: true, why: 'the hub gives the same page for ever' };
  if ((walk.ending === 'empty' || walk.ending === 'gone') && walk.knownRows > 0) {
    const why = `the hub says it has no rows where ${walk.knownRows} are known`;
    // One that counts rows and gives none contradicts itself.
    const isEmpty = walk.ending === 'empty' && (walk.totalAtEnd ?? 0) === 0;
    return { kind: 'unproven', isSuspect: true, isEmpty, why };
  }
  if (walk.rowsWithoutId > 0) {
    const why = `${walk.rowsWithoutId} rows had no sourcedId that could be read`;
    return { kind: 'unproven', isSuspect: false, why };
  }
  if (walk.byOffset && isShort(walk)) {
    // Rows that an offset walk skips it may skip for ever, if the hub's way of skipping is the same each time.
    const why = `only ${walk.distinctRows} rows came by offset where the hub counts ${walk.totalAtEnd}`;
    return { kind: 'unproven', isSuspect: true, why };
  }
  if (walk.byOffset) {
    return {
      kind: 'needs-second-pass',
      isShort: false,
      why: 'the hub pages by offset, where moving rows can be skipped',
    };
  }
  const { totalAtStart, totalAtEnd, distinctRows } = walk;
  if (totalAtStart === null || totalAtEnd === null) {
    return { kind: 'needs-second-pass', isShort: false, why: 'the hub gives no total' };
  }
  if (!countAgrees(walk)) {
    return {
      kind: 'needs-second-pass',
      isShort: isShort(walk),
      why: `${distinctRows} rows were read where the total was ${totalAtStart} at the start and ${totalAtEnd} at the end`,
    };
  }
  return { kind: 'proven' };
}

/** Whether as many different rows were read as the hub says it has, give or take what changed meanwhile. */
export function countAgrees(walk: Pick<FullWalk, 'distinctRows' | 'totalAtStart' | 'totalAtEnd'>): boolean {
  const { totalAtStart, totalAtEnd, distinctRows } = walk;
  if (totalAtStart === null || totalAtEnd === null) return false;
  return (
    distinctRows >= Math.min(totalAtStart, totalAtEnd) && distinctRows <= Math.max(totalAtStart, totalAtEnd)
  );
}

/** Whether fewer rows were read than the hub counted all the time. */
function isShort({ distinctRows, totalAtStart, totalAtEnd }: FullWalk): boolean {
  return totalAtStart !== null && totalAtEnd !== null && distinctRows < Math.min(totalAtStart, totalAtEnd);
}

import { countAgrees, judgeCompleteness, type FullScan } from '../completeness.ts';

/** A walk that nothing vouches for is made again, at most so often in all. */
const SCANS = 3;

/** A walk of the hub beside those before it. */
export interface ScanBeside {
  readonly scan: FullScan;
  /** 1 for the first. */
  readonly number: number;
  /** Rows that no walk before had; of them, those that were there when the first one began. */
  readonly news: number;
  readonly oldNews: number;
}

/** `again`: another walk may prove it. */
export type ScanVerdict =
  | { readonly kind: 'whole' }
  | { readonly kind: 'again' | 'unproven'; readonly why: string; readonly isEmpty: boolean };

/**
 * Whether all that the hub holds was seen, so that what was not seen is not there. Where the count says nothing, the
 * walk is believed when it brings nothing that the one before should have brought; one that is short of the hub's own
 * count never is.
 */
export function judgeScan({ scan, number, news, oldNews }: ScanBeside): ScanVerdict {
  const judged = judgeCompleteness(scan);
  if (judged.kind === 'proven') return { kind: 'whole' };
  const isEmpty = judged.kind === 'unproven' && judged.isEmpty === true;
  if (judged.kind === 'needs-second-pass' && !judged.isShort) {
    // What an offset walk skips is missing from its count.
    if (countAgrees(scan) || (number > 1 && oldNews === 0)) return { kind: 'whole' };
  }
  // A second one that brings nothing new says that a third will not either.
  const isHopeful = number < SCANS && (number === 1 || news > 0);
  return { kind: isHopeful ? 'again' : 'unproven', why: judged.why, isEmpty };
}

/** Whether a row that a single walk did not bring may be taken for gone, by somebody who looks again. */
export function tellsGone(scan: FullScan): boolean {
  const judged = judgeCompleteness(scan);
  return judged.kind === 'proven' || (judged.kind === 'needs-second-pass' && !judged.isShort);
}

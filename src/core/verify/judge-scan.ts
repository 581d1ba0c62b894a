import { countAgrees, judgeCompleteness, type FullScan } from '../completeness.ts';

/** An unproven scan is repeated, up to this many scans in all. */
const SCANS = 3;

/** A scan of the hub, compared with the scans before it. */
export interface ScanBeside {
  readonly scan: FullScan;
  /** 1 for the first. */
  readonly number: number;
  /** Rows that no earlier scan had. */
  readonly news: number;
  /** The part of `news` that was at the hub when the first scan began. */
  readonly newRowsThereAtStart: number;
}

/** `again`: another scan may prove that all rows were seen. */
export type ScanVerdict =
  | { readonly kind: 'complete' }
  | { readonly kind: 'again' | 'unproven'; readonly why: string; readonly isEmpty: boolean };

/**
 * Whether the scans saw every row of the hub, so that the hub does not have the others. When the count proves nothing, a
 * scan still counts as complete if it has no row that an earlier scan should have had. A scan with fewer rows than the
 * hub's own count is never complete.
 */
export function judgeScan({ scan, number, news, newRowsThereAtStart }: ScanBeside): ScanVerdict {
  const judged = judgeCompleteness(scan);
  if (judged.kind === 'proven') return { kind: 'complete' };
  const isEmpty = judged.kind === 'unproven' && judged.isEmpty === true;
  if (judged.kind === 'needs-second-sync' && !judged.isShort) {
    // Rows that an offset scan skips are missing from its count.
    if (countAgrees(scan) || (number > 1 && newRowsThereAtStart === 0)) return { kind: 'complete' };
  }
  // After a second scan without new rows, a third will not help.
  const mayHelp = number < SCANS && (number === 1 || news > 0);
  return { kind: mayHelp ? 'again' : 'unproven', why: judged.why, isEmpty };
}

/** Whether a single scan is good enough to treat a row that it did not return as missing, subject to a recheck. */
export function provesMissing(scan: FullScan): boolean {
  const judged = judgeCompleteness(scan);
  return judged.kind === 'proven' || (judged.kind === 'needs-second-sync' && !judged.isShort);
}

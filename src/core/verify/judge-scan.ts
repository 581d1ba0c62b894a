import { hasAgreed, judgeScope, type ScanEvidence } from '../deletions/evidence.ts';

/** An unproven scan is repeated, up to this many scans in all. */
const SCANS = 3;

/** The scans of a collection at the hub, compared with those before them. */
export interface ScanBeside {
  /** One for each scope. */
  readonly scopes: readonly ScanEvidence[];
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
  | { readonly kind: 'again' | 'unproven'; readonly why: string };

/**
 * Whether the scans saw every row of the hub, so that the hub does not have the others. When the count proves nothing, a
 * scan still counts as complete if it has no row that an earlier scan should have had. A scan with fewer rows than the
 * hub's own count is never complete.
 */
export function judgeScan({ scopes, number, news, newRowsThereAtStart }: ScanBeside): ScanVerdict {
  const doubt = doubtIn(scopes);
  const isConfirmed = number > 1 && newRowsThereAtStart === 0;
  if (doubt === null && (scopes.every(hasAgreed) || isConfirmed)) return { kind: 'complete' };
  // After a second scan without new rows, a third will not help.
  const mayHelp = number < SCANS && (number === 1 || news > 0);
  return { kind: mayHelp ? 'again' : 'unproven', why: doubt ?? 'no total of the hub confirms the count' };
}

/** Whether a single scan is good enough to treat a row that it did not return as missing, subject to a recheck. */
export function provesMissing(scopes: readonly ScanEvidence[]): boolean {
  return doubtIn(scopes) === null;
}

/** A parent that the hub does not find has no rows, unless it finds none at all. */
function doubtIn(scopes: readonly ScanEvidence[]): string | null {
  const isAllNotFound = scopes.length > 0 && scopes.every(({ ending }) => ending === 'not-found');
  for (const verdict of scopes.map(judgeScope)) {
    if (verdict.kind === 'complete') continue;
    if (verdict.kind === 'short') return `${verdict.shortfall.rows} of ${verdict.shortfall.total} rows came`;
    if (verdict.kind === 'inconclusive' && verdict.isNotFound && !isAllNotFound) continue;
    return verdict.why;
  }
  return null;
}

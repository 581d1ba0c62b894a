/** A smaller collection does not identify its tenant (design, "Guard"). */
const KNOWN_ROWS_AT_LEAST = 5;
/** Share of the rows read, or of the known rows if fewer, that must be known, 0 to 1. */
const OVERLAP_AT_LEAST = 0.1;
/** New rows may all sort before the known ones; after this many pages the verdict stands. */
const PAGES_TO_JUDGE_BY = 20;

/** Whether the published rows are enough to recognise another tenant's rows. */
export function canVerifyIdentity(knownRows: number): boolean {
  return knownRows >= KNOWN_ROWS_AT_LEAST;
}

/**
 * Decides from the first pages of a sync whether the rows are this tenant's, another's (a wrong base URL, mixed-up
 * credentials), or whether more pages are needed. A collection that has grown many times over still counts as its own.
 */
export function judgeOverlap(first: {
  readonly rows: number;
  readonly knownAmongThem: number;
  /** Rows published before the sync. */
  readonly knownRows: number;
  readonly pages: number;
  readonly isAll: boolean;
}): 'own' | 'wrong-tenant' | 'unsure' {
  if (first.rows === 0) return first.isAll ? 'own' : 'unsure';
  const enough = Math.min(first.rows, first.knownRows) * OVERLAP_AT_LEAST;
  if (first.knownAmongThem > 0 && first.knownAmongThem >= enough) return 'own';
  return first.isAll || first.pages >= PAGES_TO_JUDGE_BY ? 'wrong-tenant' : 'unsure';
}

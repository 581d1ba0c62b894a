/** From this size on a collection is known well enough to be told from another tenant's (design, "Guard"). */
const KNOWN_ROWS_AT_LEAST = 5;
/** Of the rows read, or of those known, so many must be met, 0 to 1. */
const OVERLAP_AT_LEAST = 0.1;
/** New rows may all sort before the known ones; after so many pages without them no more is hoped. */
const PAGES_TO_JUDGE_BY = 20;

/** Whether it can be told at all that rows are another tenant's. */
export function canVerifyIdentity(knownRows: number): boolean {
  return knownRows >= KNOWN_ROWS_AT_LEAST;
}

/**
 * Whose rows the first pages of a pass hold: this tenant's, another's by mistake (a wrong base URL, mixed-up
 * credentials), or not yet to be told. A collection that has grown many times over is still its own.
 */
export function judgeOverlap(first: {
  readonly rows: number;
  readonly knownAmongThem: number;
  /** Rows known before the pass. */
  readonly knownRows: number;
  readonly pages: number;
  readonly isAll: boolean;
}): 'own' | 'foreign' | 'unsure' {
  if (first.rows === 0) return first.isAll ? 'own' : 'unsure';
  const enough = Math.min(first.rows, first.knownRows) * OVERLAP_AT_LEAST;
  if (first.knownAmongThem > 0 && first.knownAmongThem >= enough) return 'own';
  return first.isAll || first.pages >= PAGES_TO_JUDGE_BY ? 'foreign' : 'unsure';
}

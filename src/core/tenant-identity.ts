/** A smaller collection does not identify its tenant (design, "Guard"). */
const KNOWN_ROWS_AT_LEAST = 5;
/** Share of the rows read, or of the known rows if fewer, that must be known, 0 to 1. */
const OVERLAP_AT_LEAST = 0.1;

/** Whether the published rows are enough to recognise another tenant's rows. */
export function canVerifyIdentity(knownRows: number): boolean {
  return knownRows >= KNOWN_ROWS_AT_LEAST;
}

/**
 * Whether enough of the rows read are published ones, so that they are this tenant's and not another's (a wrong base URL,
 * mixed-up credentials). A collection that has grown many times over still counts as its own.
 */
export function overlapsEnough(read: {
  readonly rows: number;
  readonly knownAmongThem: number;
  /** Rows published before. */
  readonly knownRows: number;
}): boolean {
  if (read.rows === 0) return true;
  const enough = Math.min(read.rows, read.knownRows) * OVERLAP_AT_LEAST;
  return read.knownAmongThem > 0 && read.knownAmongThem >= enough;
}

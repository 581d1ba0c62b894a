/** Limits above which deletions need a decision (contract, `deletions.withholdAbove`). */
export interface GuardLimits {
  readonly rows: number;
  /** Share of the rows published before the sync, 0 to 1. */
  readonly ratio: number;
  readonly perDay: boolean;
}

const SMALL_COLLECTION_ROWS = 5;

/**
 * Why a sync's deletions need a decision; null when they may be published.
 *
 * The guard withholds more than `rows` deletions that are also more than `ratio` of the known rows, or half or more of
 * five or more rows, or all rows (design, "Guard"). With `perDay` the deletions already published that day count as well,
 * so that a mass deletion cannot come in slices.
 */
export function whyWithhold(
  sync: { deletions: number; deletedEarlierToday: number; knownRows: number },
  limits: GuardLimits,
): string | null {
  if (sync.deletions === 0) return null;
  const earlier = limits.perDay ? sync.deletedEarlierToday : 0;
  const deletions = sync.deletions + earlier;
  const known = sync.knownRows + earlier;
  const counted = earlier > 0 ? `${deletions} of ${known} rows today` : `${deletions} of ${known} rows`;
  if (sync.deletions >= sync.knownRows)
    return `all of the collection's rows (${sync.knownRows}) would be removed`;
  if (known >= SMALL_COLLECTION_ROWS && deletions * 2 >= known)
    return `half or more would be removed: ${counted}`;
  if (deletions > limits.rows && deletions > known * limits.ratio) {
    return `${counted} would be removed, more than ${limits.rows} and more than ${percent(limits.ratio)} %`;
  }
  return null;
}

/** Notable losses in this many collections at once have one cause. */
const TOGETHER_COLLECTIONS = 3;
/** A loss is notable above `ratio` divided by this. */
const TOGETHER_DIVISOR = 5;

interface Loss {
  readonly deletions: number;
  /** Rows known before the deletions. */
  readonly knownRows: number;
}

/**
 * Whether a loss below the limits is still unusual: more than `rows`, and more than a fifth of `ratio`.
 * Two syncs must miss such rows, and the other collections' losses count, before it is published.
 */
export function isNotable({ deletions, knownRows }: Loss, { rows, ratio }: GuardLimits): boolean {
  return deletions > rows && deletions > (knownRows * ratio) / TOGETHER_DIVISOR;
}

/**
 * Why a notable loss needs a decision because other collections lost rows the same day; null when it does not. A token
 * that loses its rights to one school of thirty hides a thirtieth of everything: below the limits of each collection.
 */
export function whyTogether(own: Loss, others: readonly Loss[], limits: GuardLimits): string | null {
  if (!isNotable(own, limits)) return null;
  const notable = 1 + others.filter((each) => isNotable(each, limits)).length;
  if (notable < TOGETHER_COLLECTIONS) return null;
  const share = percent(limits.ratio / TOGETHER_DIVISOR);
  return `${notable} collections lose more than ${limits.rows} rows and more than ${share} % at once, as when rights are lost`;
}

/** 0.07 times 100 is 7.000000000000001. */
function percent(ratio: number): number {
  return Number((ratio * 100).toPrecision(6));
}

/** Limits above which deletions wait for a person (contract, `deletions.withholdAbove`). */
export interface GuardLimits {
  readonly rows: number;
  /** Share of the rows known before the pass, 0 to 1. */
  readonly ratio: number;
  readonly perDay: boolean;
}

const SMALL_COLLECTION_ROWS = 5;

/**
 * Why a pass's deletions must wait for a person; null when they may go out.
 *
 * Withheld are more than `rows` and more than `ratio` of what was known, or half or more of five or more, or all
 * (design, "Guard"). With `perDay` the deletions already published that day count as well, so that a mass deletion
 * cannot come in slices.
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
  if (sync.deletions >= sync.knownRows) return `all of the collection's rows (${sync.knownRows}) would go`;
  if (known >= SMALL_COLLECTION_ROWS && deletions * 2 >= known) return `half or more would go: ${counted}`;
  if (deletions > limits.rows && deletions > known * limits.ratio) {
    return `${counted} would go, more than ${limits.rows} and more than ${percent(limits.ratio)} %`;
  }
  return null;
}

/** Losses of so many collections at once have one cause. */
const TOGETHER_COLLECTIONS = 3;
/** How much smaller than the limit a share is that tells, when others lose as much. */
const TOGETHER_DIVISOR = 5;

interface Loss {
  readonly deletions: number;
  /** Rows known before them. */
  readonly knownRows: number;
}

/**
 * Whether a loss, though below the limits, is no everyday one: more than `rows`, and more than a fifth of `ratio`.
 * It must be missed twice, and others are looked at before it goes out.
 */
export function isNotable({ deletions, knownRows }: Loss, { rows, ratio }: GuardLimits): boolean {
  return deletions > rows && deletions > (knownRows * ratio) / TOGETHER_DIVISOR;
}

/**
 * Why a notable loss must wait for a person because of the others' of that day; null when it need not. A token that
 * lost its rights for one school of thirty takes a thirtieth of everything: below the limits of each collection.
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

/**
 * What a pass's misses lead to. `missedBefore`: keys that the complete pass before missed as well.
 * A second pass is needed where nothing vouched for the first one's count, and for more candidates than are
 * worth asking for one by one.
 */
export function triageCandidates(options: {
  candidates: readonly string[];
  missedBefore: ReadonlyMap<string, string>;
  needsSecondSync: boolean;
  confirmAtMost: number;
}): {
  readonly confirm: readonly string[];
  readonly remove: readonly string[];
  readonly wait: readonly string[];
} {
  const twice = options.candidates.filter((key) => options.missedBefore.has(key));
  const once = options.candidates.filter((key) => !options.missedBefore.has(key));
  const fewEnoughToAsk = options.candidates.length <= options.confirmAtMost;
  if (options.needsSecondSync) {
    return fewEnoughToAsk
      ? { confirm: twice, remove: [], wait: once }
      : { confirm: [], remove: twice, wait: once };
  }
  return fewEnoughToAsk
    ? { confirm: options.candidates, remove: [], wait: [] }
    : { confirm: [], remove: twice, wait: once };
}

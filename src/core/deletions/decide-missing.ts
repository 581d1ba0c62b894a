import { outOf } from '../words.ts';
import { whyHold, type GuardLimits } from './guard.ts';

/** How many consecutive full syncs have missed a row, and when the first of them missed it (ms since the epoch). */
export interface Miss {
  readonly sinceMs: number;
  readonly times: number;
}

/** If there are more keys than this, they are counted, not kept: a hub that shows one page of two million rows must not fill the memory. */
export const MAX_UNSEEN_KEYS = 100_000;

export type MissingKeys = ReadonlyMap<string, Miss>;

/** What full syncs of a collection have missed. Redis holds it; losing it delays removals and never causes one. */
export interface Missing {
  /**
   * The id of this list: the sync that last settled the missing rows, or the transaction before which rows were taken
   * off the list. If the log names another id, the list is void.
   */
  readonly syncId: string;
  /**
   * The id that the list had before that transaction. If the transaction was not committed, the log still names this
   * id.
   */
  readonly before?: string | undefined;
  /** When the confirming sync is due, ms since the epoch; null: none is needed. */
  readonly confirmAtMs: number | null;
  /** Whether the confirming sync must read every scope, not only those of the missing keys. */
  readonly confirmsAll: boolean;
  readonly keys: MissingKeys;
}

/** The remembered list if it is valid, because the log names it; null if it is void. */
export function validList(remembered: Missing | null, settledBy: string | null): Missing | null {
  const isOf = settledBy !== null && [remembered?.syncId, remembered?.before].includes(settledBy);
  return remembered !== null && isOf ? { ...remembered, syncId: settledBy } : null;
}

/** A full sync as far as missing rows are concerned. */
export interface FullSync {
  readonly atMs: number;
  /**
   * Whether the sync counts for a key, because the scope of the key is complete, or does not exist any more. A key for
   * which the sync does not count stays as it was.
   */
  readonly countsFor: (key: string) => boolean;
  readonly missed: readonly string[];
  /** How many more rows the sync missed than a list can hold. */
  readonly unlisted: number;
  readonly missesNeeded: (key: string) => number;
  /** Whether another collection is on hold, so that this one removes nothing. */
  readonly isOtherOnHold: boolean;
  /** What a person has approved; null: nobody has. */
  readonly approvedKeys: ReadonlySet<string> | null;
  /** Rows known before the sync. */
  readonly known: number;
  readonly limits: GuardLimits;
}

/** A full sync, and what was known of missing rows before it. */
export interface MissingFacts extends FullSync {
  /** Keys that waited, without those that the sync has seen, or that another sync has seen meanwhile. */
  readonly before: MissingKeys;
  /** When the hold of this collection began, ms since the epoch; null: the collection is not on hold. */
  readonly onHoldSinceMs: number | null;
  /** Whether the collection is on hold, and the list of its missing rows is lost. */
  readonly isListLost: boolean;
  readonly removedToday: number;
}

/** What becomes of the rows that a full sync missed. */
export interface MissingOutcome {
  readonly remove: readonly string[];
  /** How many keys of `remove` a person has approved. */
  readonly approvedGone: number;
  readonly wait: MissingKeys;
  /** How many of the waiting rows another full sync must miss before they are removed. */
  readonly unconfirmed: number;
  /** Whether confirmed rows are removed, because neither this collection nor another one is on hold. */
  readonly mayRemove: boolean;
  readonly onHoldSinceMs: number | null;
  readonly holdBegins: boolean;
  /** The reason, with the numbers of this sync; null: the collection is not on hold. */
  readonly whyOnHold: string | null;
  /**
   * How many rows are on hold. If this collection is on hold, these are all missing rows. Otherwise they are the
   * confirmed rows, if the hold of another collection keeps them.
   */
  readonly rowsOnHold: number;
  readonly removedToday: number;
}

/** Remove, wait or hold: the only place where a missing row becomes a removal (invariant 3). */
export function decideMissing(facts: MissingFacts): MissingOutcome {
  const { missed, missesNeeded, approvedKeys, removedToday, isOtherOnHold } = facts;
  const waiting = countMisses(facts);
  const approved = approvedKeys === null ? [] : missed.filter((key) => approvedKeys.has(key));
  for (const key of approved) waiting.delete(key);
  const known = facts.known - approved.length;
  const missing = waiting.size + facts.unlisted;
  const tooMany =
    facts.unlisted > 0
      ? `${missing} rows are missing, more than a list can hold`
      : whyHold({ missing, removedToday, known }, facts.limits);
  const goesOn = holdGoesOn(facts, waiting);
  const holdBegins = !goesOn && tooMany !== null;
  const onHoldSinceMs = goesOn || holdBegins ? holdStart(facts, waiting, goesOn) : null;
  const confirmed = [...waiting].flatMap(([key, { times }]) =>
    facts.countsFor(key) && times >= missesNeeded(key) ? [key] : [],
  );
  const mayRemove = onHoldSinceMs === null && !isOtherOnHold;
  const removed = mayRemove ? confirmed : [];
  for (const key of removed) waiting.delete(key);
  const heldByOther = isOtherOnHold ? confirmed.length : 0;
  return {
    remove: [...approved, ...removed],
    approvedGone: approved.length,
    wait: waiting,
    unconfirmed: [...waiting].filter(([key, { times }]) => times < missesNeeded(key)).length,
    mayRemove,
    onHoldSinceMs,
    holdBegins,
    whyOnHold: onHoldSinceMs === null ? null : (tooMany ?? `${outOf(missing, known)} rows are still missing`),
    rowsOnHold: onHoldSinceMs === null ? heldByOther : missing,
    removedToday: removedToday + removed.length,
  };
}

/**
 * The keys that wait after this sync, each with its misses. A key for which the sync does not count stays as it was.
 */
function countMisses(facts: MissingFacts): Map<string, Miss> {
  const { before, missed, countsFor, atMs, isListLost, onHoldSinceMs } = facts;
  const counted = new Map<string, Miss>();
  for (const [key, miss] of before) if (!countsFor(key)) counted.set(key, miss);
  // If the list is lost, the rows that this sync misses take its place, as if they were missing since the hold began.
  const sinceMs = isListLost && onHoldSinceMs !== null ? onHoldSinceMs : atMs;
  for (const key of missed) {
    const earlier = before.get(key);
    counted.set(key, { sinceMs: earlier?.sinceMs ?? sinceMs, times: (earlier?.times ?? 0) + 1 });
  }
  return counted;
}

/**
 * Whether a hold goes on: until all rows that were missing when it began are back or removed. A person who approves a
 * part of the list leaves the rest on hold. So after an approval, the hold goes on for every other row of the list.
 */
function holdGoesOn(facts: MissingFacts, missing: MissingKeys): boolean {
  const { onHoldSinceMs, isListLost, approvedKeys } = facts;
  if (onHoldSinceMs === null) return false;
  if (isListLost) return missing.size > 0;
  if (approvedKeys !== null) return unapproved(facts, missing).size > 0;
  return [...missing.values()].some(({ sinceMs }) => sinceMs <= onHoldSinceMs);
}

/** The rows that were on the list when a person approved other rows of the list. */
function unapproved({ before, approvedKeys }: MissingFacts, missing: MissingKeys): MissingKeys {
  return new Map([...missing].filter(([key]) => before.has(key) && approvedKeys?.has(key) === false));
}

/**
 * The time at which a hold counts as begun. Only rows that were first missed at this time or earlier prolong the hold.
 * So the time is never before the first miss of a row that must prolong the hold. If the hold is new, these are all
 * missing rows (the clock of an earlier process may have been ahead). If it goes on, these are the rows that were left
 * on the list when others were approved.
 */
function holdStart(facts: MissingFacts, missing: MissingKeys, goesOn: boolean): number {
  const rows = goesOn ? unapproved(facts, missing) : missing;
  const startMs = (goesOn ? facts.onHoldSinceMs : null) ?? facts.atMs;
  return [...rows.values()].reduce((latest, { sinceMs }) => Math.max(latest, sinceMs), startMs);
}

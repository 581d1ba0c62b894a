import { outOf } from '../words.ts';
import { whyHold, type GuardLimits } from './guard.ts';

/** How often in a row complete full syncs have missed a row, and since when (ms since the epoch). */
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
   * The sync that last settled the missing rows, or the transaction with which rows left them. If the log names another
   * id, what is remembered here is void.
   */
  readonly syncId: string;
  /** The id that was valid before that transaction. If the transaction was not committed, the log still names this id. */
  readonly before?: string | undefined;
  /** When the confirming sync that is needed is due, ms since the epoch; null: none is needed. */
  readonly confirmAtMs: number | null;
  /** The confirming sync reads every scope, not only those of the missing keys. */
  readonly confirmsAll: boolean;
  readonly keys: MissingKeys;
}

/** What is remembered, if the log names it; else it is void. */
export function ofLog(remembered: Missing | null, settledBy: string | null): Missing | null {
  const isOf = settledBy !== null && [remembered?.syncId, remembered?.before].includes(settledBy);
  return remembered !== null && isOf ? { ...remembered, syncId: settledBy } : null;
}

/** A full sync as far as missing rows are concerned. */
export interface FullSync {
  readonly atMs: number;
  /** Whether the sync counts for a key: its scope is complete, or does not exist any more. Else the key stays as it was. */
  readonly counts: (key: string) => boolean;
  readonly missed: readonly string[];
  /** Rows that the sync missed beyond those that a list can hold. */
  readonly unlisted: number;
  readonly missesNeeded: (key: string) => number;
  /** Another collection is on hold: the tenant removes nothing. */
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
  /** When the hold that stands began, ms since the epoch; null: none stands. */
  readonly onHoldSinceMs: number | null;
  /** The hold stands, and what was missing at its begin is not known any more. */
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
  /** Neither this collection nor another one is on hold: confirmed rows are removed. */
  readonly isFree: boolean;
  readonly onHoldSinceMs: number | null;
  readonly holdBegins: boolean;
  /** In numbers of this sync; null: the collection is not on hold. */
  readonly whyOnHold: string | null;
  /** How many rows are on hold: all missing ones of a collection on hold, else those that only another's hold keeps. */
  readonly rowsOnHold: number;
  readonly removedToday: number;
}

/** Remove, wait or hold: the only place where a missing row becomes a removal (invariant 3). */
export function decideMissing(facts: MissingFacts): MissingOutcome {
  const { missed, missesNeeded, approvedKeys, removedToday, isOtherOnHold } = facts;
  const counted = countMisses(facts);
  const gone = approvedKeys === null ? [] : missed.filter((key) => approvedKeys.has(key));
  for (const key of gone) counted.delete(key);
  const known = facts.known - gone.length;
  const missing = counted.size + facts.unlisted;
  const stands = holdStands(facts, counted);
  const beyond =
    facts.unlisted > 0
      ? `${missing} rows are missing, more than a list can hold`
      : whyHold({ missing, removedToday, known }, facts.limits);
  const holdBegins = !stands && beyond !== null;
  const onHoldSinceMs = stands
    ? standsSince(facts, counted)
    : holdBegins
      ? latest(counted, facts.atMs)
      : null;
  const due = [...counted].flatMap(([key, { times }]) =>
    facts.counts(key) && times >= missesNeeded(key) ? [key] : [],
  );
  const isFree = onHoldSinceMs === null && !isOtherOnHold;
  const removed = isFree ? due : [];
  for (const key of removed) counted.delete(key);
  const waitsForDecision = onHoldSinceMs !== null ? missing : isOtherOnHold ? due.length : 0;
  return {
    remove: [...gone, ...removed],
    approvedGone: gone.length,
    wait: counted,
    unconfirmed: [...counted].filter(([key, { times }]) => times < missesNeeded(key)).length,
    isFree,
    onHoldSinceMs,
    holdBegins,
    whyOnHold: onHoldSinceMs === null ? null : (beyond ?? `${outOf(missing, known)} rows are still missing`),
    rowsOnHold: waitsForDecision,
    removedToday: removedToday + removed.length,
  };
}

/**
 * The waiting keys, with the misses of this sync. If the sync does not count for the scope of a key, the key stays as
 * it was.
 */
function countMisses(facts: MissingFacts): Map<string, Miss> {
  const { before, missed, counts, atMs, isListLost, onHoldSinceMs } = facts;
  const counted = new Map<string, Miss>();
  for (const [key, miss] of before) if (!counts(key)) counted.set(key, miss);
  // The rows that the first complete full sync misses take the place of the lost list.
  const sinceMs = isListLost && onHoldSinceMs !== null ? onHoldSinceMs : atMs;
  for (const key of missed) {
    const earlier = before.get(key);
    counted.set(key, { sinceMs: earlier?.sinceMs ?? sinceMs, times: (earlier?.times ?? 0) + 1 });
  }
  return counted;
}

/**
 * A hold stands while a row is missing that was missing at its begin. After an approval it stands for every listed row that was not
 * approved: who approves a part has seen the others, and left them.
 */
function holdStands(facts: MissingFacts, missing: MissingKeys): boolean {
  const { onHoldSinceMs, isListLost, approvedKeys } = facts;
  if (onHoldSinceMs === null) return false;
  if (isListLost) return missing.size > 0;
  if (approvedKeys !== null) return unapproved(facts, missing).size > 0;
  return [...missing.values()].some(({ sinceMs }) => sinceMs <= onHoldSinceMs);
}

/** Rows of the list that a person has approved in part, without the approved ones. */
function unapproved({ before, approvedKeys }: MissingFacts, missing: MissingKeys): MissingKeys {
  return new Map([...missing].filter(([key]) => before.has(key) && approvedKeys?.has(key) === false));
}

/** From then on, rows that go missing do not prolong the hold. */
function standsSince(facts: MissingFacts, missing: MissingKeys): number | null {
  const { onHoldSinceMs } = facts;
  return onHoldSinceMs === null ? null : latest(unapproved(facts, missing), onHoldSinceMs);
}

/** When the newest row was first missed: by a process whose clock may have been ahead. */
function latest(missing: MissingKeys, atMs: number): number {
  return [...missing.values()].reduce((newest, { sinceMs }) => Math.max(newest, sinceMs), atMs);
}

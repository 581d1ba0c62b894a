import { formatCount, outOf } from '../words.ts';

/** Limits above which missing rows need a decision (`deletions.holdAbove`). */
export interface GuardLimits {
  readonly rows: number;
  /** The share of the collection's rows, 0 to 1. Rows that were removed today count as missing, and as rows of the collection. */
  readonly ratio: number;
}

const SMALL_COLLECTION_ROWS = 5;

/** Whether half or more of the rows are missing, in a collection of five rows or more. */
export function isMostOf(missing: number, known: number): boolean {
  return known >= SMALL_COLLECTION_ROWS && missing * 2 >= known;
}

const NEARLY_ALL = 0.9;

/**
 * Whether the removal of this many rows leaves hardly any row of the collection. Then the person who approves it must
 * give a reason.
 */
export function isNearlyAllOf(missing: number, known: number): boolean {
  return missing > 0 && missing >= known * NEARLY_ALL;
}

/**
 * Why the missing rows of a collection need a decision; null when they do not. The day's removals count as well, so that
 * a mass deletion cannot come in slices; those that a person approved do not.
 */
export function whyHold(
  rows: {
    /** Missed once or more, still published. */
    readonly missing: number;
    /** Unapproved removals of the day. */
    readonly removedToday: number;
    /** Published, the missing ones included. */
    readonly known: number;
  },
  limits: GuardLimits,
): string | null {
  if (rows.missing === 0) return null;
  if (rows.missing >= rows.known)
    return `all of the collection's rows (${formatCount(rows.known)}) are missing`;
  const lost = rows.missing + rows.removedToday;
  const of = rows.known + rows.removedToday;
  const counted = `${outOf(lost, of)} rows${rows.removedToday > 0 ? ' today' : ''}`;
  if (isMostOf(lost, of)) return `half or more are missing: ${counted}`;
  if (lost > limits.rows && lost > of * limits.ratio)
    return `${counted} are missing, more than ${formatCount(limits.rows)} and more than ${percent(limits.ratio)} %`;
  return null;
}

/** Rounded, because 0.07 times 100 is 7.000000000000001. */
const percent = (ratio: number): number => Number((ratio * 100).toPrecision(6));

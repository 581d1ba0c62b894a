import { hash } from 'node:crypto';
import { blankStamps, type BlankedText } from './blank-stamps.ts';

/** Far below what a record can hold, so that the length of a timestamp never decides whether a row fits. */
const LONGEST_ROW = 100_000;

/**
 * The beginning of an escaped ASCII letter. If the name `dateLastModified` were written with such an escape, its value
 * would not be blanked.
 */
const ESCAPED_LETTERS = ['\\u004', '\\u005', '\\u006', '\\u007'];

/** What identifies the content of a page: SHA-256 of its bytes without the times at which its rows were modified. */
export interface PageFingerprint {
  /** The cursor that the page was requested with; null: the first page. */
  readonly cursor: string | null;
  /** The address of the request. */
  readonly address: string;
  /** Rows that were asked for. */
  readonly limit: number;
  /** Size of the body. */
  readonly bytes: number;
  /** The 32 bytes of the hash, each as one character. */
  readonly digest: string;
  /** Of all rows, in the page's order. */
  readonly ids: readonly string[];
}

/** The digest of a page's text without the times of modification; null if {@link blankStamps} returns null. */
export function digestOf(text: Buffer): string | null {
  const blanked = blankStamps(text);
  return blanked === null ? null : digest(blanked);
}

function digest({ bytes }: BlankedText): string {
  return hash('sha256', bytes, 'binary');
}

/**
 * The digest of a page, if it is proven that the digest leaves out only the `dateLastModified` of each row. It is
 * proven if there are as many blanks as rows, each row has the property, and no escape can have written its name:
 * then no blank is anywhere else. Every text with this digest has the same rows, apart from these values. `rows`: the
 * rows of the parsed text.
 */
export function proveDigest(text: Buffer, rows: readonly unknown[]): string | null {
  const blanked = blankStamps(text);
  if (blanked === null || blanked.longestGap > LONGEST_ROW) return null;
  if (rows.length !== blanked.stamps || !rows.every(hasStamp)) return null;
  return ESCAPED_LETTERS.some((escaped) => blanked.bytes.includes(escaped)) ? null : digest(blanked);
}

function hasStamp(row: unknown): boolean {
  return typeof row === 'object' && row !== null && Object.hasOwn(row, 'dateLastModified');
}

import { hash } from 'node:crypto';
import { blankStamps, type BlankedText } from './blank-stamps.ts';

/** Far below what a record holds, so that the length of a timestamp never decides whether a row fits. */
const LONGEST_ROW = 100_000;

/** An escaped ASCII letter: with one, a property may have the name and yet keep its value. */
const ESCAPED_LETTER = /\\u00[4-7]/;

/** What identifies a page's content: SHA-256 of its bytes, but for when its rows were modified. */
export interface PagePrint {
  /** The cursor that the page was requested with; null: the first page. */
  readonly cursor: string | null;
  /** The address of the request. */
  readonly address: string;
  /** Rows that were asked for. */
  readonly limit: number;
  /** Size of the body. */
  readonly bytes: number;
  /** 32 bytes, one a character. */
  readonly digest: string;
  /** Of all rows, in the page's order. */
  readonly ids: readonly string[];
}

/** The digest of a page's text without the times of modification; null when {@link blankStamps} does not take it. */
export function digestOf(text: Buffer): string | null {
  const blanked = blankStamps(text);
  return blanked === null ? null : digest(blanked);
}

function digest({ bytes }: BlankedText): string {
  return hash('sha256', bytes, 'binary');
}

/**
 * The digest of a page, if it is proven that it leaves nothing out but the `dateLastModified` of each row: the blanked
 * text has as many blanks as rows, and each row has one of its own, so no blank is anywhere else. Every text with this
 * digest then has the same rows but for these values. `rowsIn`: the rows of a parsed body.
 */
export function proveDigest(text: Buffer, rowsIn: (body: unknown) => readonly unknown[]): string | null {
  const blanked = blankStamps(text);
  if (blanked === null || blanked.longestGap > LONGEST_ROW) return null;
  const json = blanked.bytes.toString('utf8');
  if (ESCAPED_LETTER.test(json)) return null;
  const rows = rowsIn(JSON.parse(json.startsWith('\uFEFF') ? json.slice(1) : json));
  const areAllBlank = rows.length === blanked.stamps && rows.every(isBlank);
  return areAllBlank ? digest(blanked) : null;
}

function isBlank(row: unknown): boolean {
  if (typeof row !== 'object' || row === null || !Object.hasOwn(row, 'dateLastModified')) return false;
  return (row as { dateLastModified: unknown }).dateLastModified === '';
}

import { CONTENT_HASH_BYTES } from '../content-hash.ts';
import { decodeAbsenceEntry, encodeAbsenceEntry, hasLoneVersion } from './entry-codec.ts';
import type { AbsenceEntry } from './chain-state.ts';

/** The index value of an absence. */
export interface PublishedAbsence {
  /** Null if no event of the absence was read: the log lost it, or an import has not come to it yet. */
  readonly entry: AbsenceEntry | null;
  /** Content hash (16 bytes) of the absence's record in `absences`; null if that topic has none. */
  readonly shown: Buffer | null;
}

/** What the index holds of an absence. */
export interface IndexedAbsence extends PublishedAbsence {
  /** Whether `entry` also stands for the version with the absence's id; see {@link loneVersionOf}. */
  readonly hasLoneVersion: boolean;
}

const NOTHING: IndexedAbsence = { entry: null, shown: null, hasLoneVersion: false };
const IS_SHOWN = 1;

/* absence := flags (1 byte) · [hash: 16 bytes] · [entry, see entry-codec] */

export function encodePublishedAbsence(
  absenceId: string,
  { entry, shown }: PublishedAbsence,
  standsForVersion = false,
): Buffer {
  const parts: Buffer[] = [Buffer.from([shown === null ? 0 : IS_SHOWN])];
  if (shown !== null) parts.push(shown);
  if (entry !== null) parts.push(encodeAbsenceEntry(absenceId, entry, standsForVersion));
  return Buffer.concat(parts);
}

/** @throws RangeError if the bytes have another format or are cut short: the index must be rebuilt */
export function decodePublishedAbsence(absenceId: string, bytes: Buffer | null): IndexedAbsence {
  if (bytes === null) return NOTHING;
  const isShown = bytes[0] === IS_SHOWN;
  const at = isShown ? 1 + CONTENT_HASH_BYTES : 1;
  if (bytes.length < at) throw new RangeError('An absence in the index ends too early.');
  const shown = isShown ? bytes.subarray(1, at) : null;
  const rest = bytes.subarray(at);
  if (rest.length === 0) return { entry: null, shown, hasLoneVersion: false };
  return { entry: decodeAbsenceEntry(absenceId, rest), shown, hasLoneVersion: hasLoneVersion(rest) };
}

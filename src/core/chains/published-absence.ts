import { CONTENT_HASH_BYTES } from '../content-hash.ts';
import { decodeAbsenceEntry, encodeAbsenceEntry } from './entry-codec.ts';
import type { AbsenceEntry } from './chain-state.ts';

/** The index value of an absence. */
export interface PublishedAbsence {
  /** Null if no event of the absence was read: the log lost it, or an import has not come to it yet. */
  readonly entry: AbsenceEntry | null;
  /** Content hash (16 bytes) of the absence's record in `absences`; null if that topic has none. */
  readonly shown: Buffer | null;
}

const NOTHING: PublishedAbsence = { entry: null, shown: null };
const IS_SHOWN = 1;

/* absence := flags (1 byte) · [hash: 16 bytes] · [entry, see entry-codec] */

export function encodePublishedAbsence(absenceId: string, { entry, shown }: PublishedAbsence): Buffer {
  const parts: Buffer[] = [Buffer.from([shown === null ? 0 : IS_SHOWN])];
  if (shown !== null) parts.push(shown);
  if (entry !== null) parts.push(encodeAbsenceEntry(absenceId, entry));
  return Buffer.concat(parts);
}

/** @throws RangeError if the bytes have another format or are cut short: the index must be rebuilt */
export function decodePublishedAbsence(absenceId: string, bytes: Buffer | null): PublishedAbsence {
  if (bytes === null) return NOTHING;
  const isShown = bytes[0] === IS_SHOWN;
  const at = isShown ? 1 + CONTENT_HASH_BYTES : 1;
  if (bytes.length < at) throw new RangeError('An absence in the index ends too early.');
  return {
    shown: isShown ? bytes.subarray(1, at) : null,
    entry: bytes.length === at ? null : decodeAbsenceEntry(absenceId, bytes.subarray(at)),
  };
}

import type { RowReader } from './decoded-row.ts';

/** A value read back from the log, with what its record says of the mapping that it was written under. */
export interface LoggedValue {
  readonly value: object;
  /** Its `ce_mapping` header; null when there is none. */
  readonly mapping: string | null;
  /** The content hash of this very value; null where the record has none, or has that of something larger. */
  readonly hash: Buffer | null;
}

/** What of a value may be published. */
export interface ValueInForce {
  readonly value: object;
  /** Its content hash; null where the value is as it was in the log. */
  readonly hash: Buffer | null;
}

/**
 * What the mapping in force leaves of a value that was read back from the log (invariant 12). A value that was
 * written under another mapping is read again like a row of the hub. Where nobody can tell under which mapping it
 * was written, it is read again, too: a pseudonym of a pseudonym gives nothing away. What cannot be read again is
 * reduced to its id.
 */
export function inForce(
  reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>,
  logged: LoggedValue,
): ValueInForce {
  const { mapping = null } = reader;
  const asItWas = { value: logged.value, hash: null };
  if (mapping === null || logged.mapping === mapping) return asItWas;
  if (logged.mapping === null && hasItsHash(reader, logged)) return asItWas;
  const reading = reader.readAgain?.(logged.value);
  if (reading?.kind === 'row') return { value: reading.value, hash: reading.hash };
  const { sourcedId } = logged.value as { sourcedId?: unknown };
  return { value: { sourcedId }, hash: null };
}

/** The hash has the mapping mixed in: before records named their mapping, only this told it. */
function hasItsHash({ hashOf }: Pick<RowReader, 'hashOf'>, { value, hash }: LoggedValue): boolean {
  if (hash === null || hashOf === undefined) return false;
  try {
    return hashOf(value).equals(hash);
  } catch {
    // Not of the schema's shape.
    return false;
  }
}

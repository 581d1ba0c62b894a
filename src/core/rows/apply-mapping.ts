import type { RowReader } from './decoded-row.ts';

/** A value that was read back from the log, with the mapping that a header of its record names. */
export interface LoggedValue {
  readonly value: object;
  /** The `ce_mapping` header of the record; null when there is none. */
  readonly mapping: string | null;
}

/**
 * Returns what the mapping in force lets be published of a value that was read back from the log (invariant 12). A
 * value that was written under another mapping is decoded again, like a row of the hub. So is a value whose mapping is
 * unknown: this may pseudonymise a pseudonym once more, which reveals nothing. A value that cannot be decoded again is
 * reduced to its id.
 */
export function applyMapping(reader: Pick<RowReader, 'mapping' | 'readAgain'>, logged: LoggedValue): object {
  if (reader.mapping === null || logged.mapping === reader.mapping) return logged.value;
  const decoded = reader.readAgain(logged.value);
  if (decoded.kind === 'row') return decoded.value;
  const { sourcedId } = logged.value as { sourcedId?: unknown };
  return { sourcedId };
}

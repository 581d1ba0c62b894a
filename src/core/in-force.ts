import type { RowReader } from './rows/decoded-row.ts';

/** A value that was read back from the log, with what the headers of its record say about its mapping. */
export interface LoggedValue {
  readonly value: object;
  /** Its `ce_mapping` header; null when there is none. */
  readonly mapping: string | null;
}

/**
 * What may be published, under the mapping in force, of a value that was read back from the log (invariant 12). A value
 * that was written under another mapping is decoded again, like a row of the hub. So is a value whose mapping is unknown,
 * because a pseudonym of a pseudonym reveals nothing. A value that cannot be decoded again is reduced to its id.
 */
export function inForce(reader: Pick<RowReader, 'mapping' | 'readAgain'>, logged: LoggedValue): object {
  const { mapping = null } = reader;
  if (mapping === null || logged.mapping === mapping) return logged.value;
  const decoded = reader.readAgain?.(logged.value);
  if (decoded?.kind === 'row') return decoded.value;
  const { sourcedId } = logged.value as { sourcedId?: unknown };
  return { sourcedId };
}

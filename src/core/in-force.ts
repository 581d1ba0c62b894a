import type { RowReader } from './rows/decoded-row.ts';

/** A value that was read back from the log, with what the headers of its record say about its mapping. */
export interface LoggedValue {
  readonly value: object;
  /** Its `ce_mapping` header; null when there is none. */
  readonly mapping: string | null;
}

/** The part of a value that may be published. */
export interface ValueInForce {
  readonly value: object;
  /** The content hash of a value that was decoded again; null: the value is as in the log, or only its id is left. */
  readonly hash: Buffer | null;
}

/**
 * Applies the mapping in force to a value that was read back from the log (invariant 12). A value that was written
 * under another mapping is decoded again, like a row of the hub. So is a value whose mapping is unknown, because a
 * pseudonym of a pseudonym reveals nothing. A value that cannot be decoded again is reduced to its id.
 */
export function inForce(reader: Pick<RowReader, 'mapping' | 'readAgain'>, logged: LoggedValue): ValueInForce {
  const { mapping = null } = reader;
  const unchanged = { value: logged.value, hash: null };
  if (mapping === null || logged.mapping === mapping) return unchanged;
  const decoded = reader.readAgain?.(logged.value);
  if (decoded?.kind === 'row') return { value: decoded.value, hash: decoded.hash };
  const { sourcedId } = logged.value as { sourcedId?: unknown };
  return { value: { sourcedId }, hash: null };
}

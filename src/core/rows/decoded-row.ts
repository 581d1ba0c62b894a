/** Leaves room for key, headers and framing below Kafka's default `max.message.bytes` of 1 MiB. */
export const MAX_RECORD_BYTES = 900_000;

/** A row that can be published. `value` is shaped for the collection's Avro schema. */
export interface ReadableRow {
  readonly kind: 'row';
  readonly sourcedId: string;
  /** A plain object in the shape of the schema. A field that the row lacks is null. */
  readonly value: object;
  /** 16 bytes, a view that stays valid: {@link RowReader} never uses the memory again. */
  readonly hash: Buffer;
  /** `dateLastModified` as ms since the epoch, null when it is missing or unreadable. */
  readonly modifiedAtMs: number | null;
  /** The id of the row's student, before `drop` and `pseudonymise`; only for versions of absences. */
  readonly studentId?: string | null | undefined;
}

/** A row that cannot be published and goes to `rejects`. */
export interface UnreadableRow {
  readonly kind: 'reject';
  /** Null if it is missing or unreadable: then only the content of the row identifies it. */
  readonly sourcedId: string | null;
  /** Second part of the reject's key: the `sourcedId`; if there is none, `sha256:<hash of the row without dateLastModified>`. */
  readonly rejectId: string;
  /** Names fields and shapes, never values. */
  readonly reason: string;
  /** The row as JSON text after drop and pseudonymise; null when it may not be shown or is too large for a record. */
  readonly text: string | null;
  /** `dateLastModified` as ms since the epoch, null when it is missing or unreadable. */
  readonly modifiedAtMs: number | null;
  /** 16 bytes over the text (without dateLastModified and hrefs) and the reason. */
  readonly hash: Buffer;
}

export type DecodedRow = ReadableRow | UnreadableRow;

/** Decodes rows of one collection under one mapping. Pure and synchronous; never throws on bad data. */
export interface RowReader {
  read(row: unknown): DecodedRow;
  /** Rejects a row that is readable, but must not be published. `reason` names no value. */
  reject(row: unknown, reason: string): UnreadableRow;
  /** Like {@link reject}, for a value that `read` returned. */
  rejectValue(value: object, reason: string): UnreadableRow;
  /** Avro body (unframed) of a value that `read` returned. */
  encode(value: object): Buffer;
  /** The hash that a value that was read back from a record must have. Throws if the value does not have the shape of the schema. */
  hashOf(value: object): Buffer;
  /** Takes a value that was read back from a record, and decodes it once more, under this reader's mapping. */
  readAgain(value: object): DecodedRow;
  /** Id of what the mapping drops and pseudonymises (see core/rows/mapping-rules.ts); null when it takes nothing out. */
  readonly mapping: string | null;
}

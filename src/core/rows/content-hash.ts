import { hash as digest } from 'node:crypto';
import type { AvroRecord } from '../../model/avro-schema.ts';
import { additionalContent, type AdditionalField } from './additional-fields.ts';
import { createWriter, intoOneBuffer, nullable, writeBytes, writeString } from '../avro/avro-writer.ts';
import { MAPPING_VERSION, SET_FIELDS } from './mapping-rules.ts';

export const CONTENT_HASH_BYTES = 16;

/** A hash that no row has: every row of the hub differs from it, and is published again. */
export const HASH_OF_NO_ROW = Buffer.alloc(CONTENT_HASH_BYTES);

/** What the configuration does to a collection's rows. All names are of top-level fields. */
export interface RowMapping {
  /** These fields are removed before anything else is done. */
  readonly drop: readonly string[];
  /** Fields whose value is replaced by a pseudonym. */
  readonly pseudonymise: readonly string[];
  /** These fields are published, but if only they change, the row does not count as changed. */
  readonly ignore: readonly string[];
}

/** 16 bytes over what counts as content (design, "What counts as a change"), in a new buffer. */
export type ContentHash = (value: object, additional: readonly AdditionalField[]) => Buffer;

/** Never content: the modification time (spec 1, rule 3), and addresses, which depend on the request. */
const NEVER_CONTENT = ['dateLastModified', 'href'];

/**
 * The first 16 bytes of SHA-256, in a new buffer. For an event of absences, it is taken over the whole Avro body,
 * because no two events are equal.
 */
export function shortDigest(bytes: Buffer | string): Buffer {
  const short = Buffer.allocUnsafe(CONTENT_HASH_BYTES);
  // Node returns a digest as a string several times as fast as a buffer.
  short.write(digest('sha256', bytes, 'binary'), 0, CONTENT_HASH_BYTES, 'latin1');
  return short;
}

/** The prefix of the content in every hash: a changed mapping changes every hash. */
export function mappingDigest(mapping: RowMapping): Buffer {
  const lists = [mapping.drop, mapping.pseudonymise, mapping.ignore].map((names) =>
    [...new Set(names)].sort(),
  );
  return shortDigest(JSON.stringify([MAPPING_VERSION, ...lists]));
}

/**
 * Compiles the content hash: SHA-256 over the mapping's digest and the Avro body of the value. In that body,
 * `dateLastModified`, ignored fields, and `href`s at any depth are null; sets are in the order of the bytes of their
 * elements; and the additional fields are canonical JSON text, without those names. A field that a later version of the
 * schema has added is not in that body: it stays among the additional fields, so that no hash changes.
 */
export function createContentHash(schema: AvroRecord, mapping: RowMapping): ContentHash {
  const without = new Set([...NEVER_CONTENT, ...mapping.ignore]);
  const fields = schema.fields.filter(
    ({ name, since }) => name !== 'additionalFields' && since === undefined,
  );
  const write = createWriter(fields, { without, withoutWithin: HREF_ONLY, sets: SET_FIELDS });
  const prefix = mappingDigest(mapping);
  const contentOf = intoOneBuffer<{ value: object; additional: readonly AdditionalField[] }>(
    ({ value, additional }, output) => {
      writeBytes(prefix, output);
      write(value, output);
      writeAdditional(additional.length === 0 ? null : additionalContent(additional, without), output);
    },
  );
  return (value, additional) => shortDigest(contentOf({ value, additional }));
}

const HREF_ONLY: ReadonlySet<string> = new Set(['href']);

const writeAdditional = nullable(writeString);

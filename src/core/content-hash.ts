import { hash as digest } from 'node:crypto';
import {
  isDefinition,
  type AvroRecord,
  type AvroDefinition,
  type AvroField,
  type AvroSchema,
} from '../model/avro-schema.ts';
import { canonicalText } from './json-text.ts';
import { SET_FIELDS } from './mapping-rules.ts';

export const CONTENT_HASH_BYTES = 16;

/** A hash that no row has: every row of the hub differs from it, and is published again. */
export const HASH_OF_NO_ROW = Buffer.alloc(CONTENT_HASH_BYTES);

/** What the configuration does to a collection's rows. All names are of top-level fields. */
export interface RowMapping {
  readonly mappingVersion: number;
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  /** Published; a change of these fields alone is no change of the row. */
  readonly ignore: readonly string[];
}

/** A field that goes to `additionalFields`, before it becomes text. */
export interface AdditionalField {
  readonly name: string;
  readonly raw: unknown;
  /** Whether the schema has a field of that name, so that its sets are known. */
  readonly known: boolean;
}

/** 16 bytes over what counts as content (design, "What counts as a change"), in a new buffer. */
export type ContentHash = (value: object, additional: readonly AdditionalField[]) => Buffer;

/** Never content: the modification time (spec 1, rule 3), and addresses, which depend on the request. */
const NEVER_CONTENT = ['dateLastModified', 'href'];

/** The first 16 bytes of SHA-256, in a new buffer. Of an event of absences, of which no two are equal, over its whole Avro body. */
export function shortDigest(bytes: Buffer | string): Buffer {
  const short = Buffer.allocUnsafe(CONTENT_HASH_BYTES);
  // Node returns a digest as a string several times as fast as a buffer.
  short.write(digest('sha256', bytes, 'binary'), 0, CONTENT_HASH_BYTES, 'latin1');
  return short;
}

/** The prefix of the content in every hash: a changed mapping changes every hash. */
export function mappingDigest(mapping: RowMapping): Buffer {
  const { mappingVersion, drop, pseudonymise, ignore } = mapping;
  const lists = [drop, pseudonymise, ignore].map((names) => [...new Set(names)].sort());
  return shortDigest(JSON.stringify([mappingVersion, ...lists]));
}

const FIRST_BYTES = 16 * 1024;
/** A larger buffer is released after the row instead of being reused. */
const KEPT_BYTES_AT_MOST = 4 * 1024 * 1024;

/**
 * Compiles the content hash: SHA-256 over the mapping's digest and the Avro body of the value. In that body
 * `dateLastModified`, ignored fields, and `href`s at any depth are null, sets are in the order of their elements' bytes,
 * and the additional fields (without those names) are in the order of their names, as canonical JSON text.
 */
export function createContentHash(schema: AvroRecord, mapping: RowMapping): ContentHash {
  const without = new Set([...NEVER_CONTENT, ...mapping.ignore]);
  const fields = schema.fields.filter(({ name }) => name !== 'additionalFields');
  const write = recordWriter(fields, { without, definitions: new Map() });
  const prefix = mappingDigest(mapping);
  const output: Output = { bytes: Buffer.alloc(0), end: 0 };
  return (value, additional) => {
    if (output.bytes.length === 0) output.bytes = Buffer.concat([prefix], FIRST_BYTES);
    output.end = prefix.length;
    write(value, output);
    writeAdditional(additional, { without, output });
    const hash = shortDigest(output.bytes.subarray(0, output.end));
    if (output.bytes.length > KEPT_BYTES_AT_MOST) output.bytes = Buffer.alloc(0);
    return hash;
  };
}

const HREF_ONLY: ReadonlySet<string> = new Set(['href']);

/** Writes an Avro map: the count, the names and texts, the end. */
function writeAdditional(
  additional: readonly AdditionalField[],
  to: { without: ReadonlySet<string>; output: Output },
): void {
  const { without, output } = to;
  const content = additional.length === 0 ? additional : additional.filter(({ name }) => !without.has(name));
  if (content.length > 0) {
    writeLong(content.length, output);
    for (const { name, raw, known } of content.toSorted(byName)) {
      writeText(name, output);
      writeText(canonicalText(raw, { name, sets: known ? SET_FIELDS : null }), output);
    }
  }
  writeLong(0, output);
}

function byName(one: AdditionalField, other: AdditionalField): number {
  return one.name < other.name ? -1 : 1;
}

/** A growing buffer; `end` is the number of bytes written so far. */
export interface Output {
  bytes: Buffer;
  end: number;
}

export type ContentWriter = (value: unknown, output: Output) => void;

/** A long takes up to ten bytes, the branch of a union one more. */
const SCALAR_BYTES_AT_MOST = 11;

interface Compiling {
  readonly without: ReadonlySet<string>;
  readonly definitions: Map<string, ContentWriter>;
}

/** A writer of fields in their order; those `without` are written as null. */
function recordWriter(fields: readonly AvroField[], compiling: Compiling): ContentWriter {
  const nested = { ...compiling, without: HREF_ONLY };
  const writers = fields.map(({ name, type }) => {
    // Compile excluded fields, too: one may define a type that other fields refer to.
    const write = compile(type, { ...nested, isSet: SET_FIELDS.has(name) });
    return { name, write: compiling.without.has(name) ? writeNull : write };
  });
  return (value, output) => {
    for (const { name, write } of writers) write((value as Record<string, unknown>)[name], output);
  };
}

type CompilingField = Compiling & { readonly isSet: boolean };

function compile(schema: AvroSchema, compiling: CompilingField): ContentWriter {
  if (typeof schema === 'string') return scalarWriter(schema) ?? definedWriter(schema, compiling);
  if (isDefinition(schema)) return compileDefinition(schema, compiling);
  const [, second] = schema;
  if (second === undefined) throw new Error('a union of a row schema must be ["null", T]');
  return nullable(compile(second, compiling));
}

function compileDefinition(schema: AvroDefinition, compiling: CompilingField): ContentWriter {
  if (schema.type === 'array' && schema.items !== undefined) {
    return arrayWriter(compile(schema.items, { ...compiling, isSet: false }), compiling.isSet);
  }
  if (schema.type !== 'record' || schema.name === undefined) return compile(schema.type, compiling);
  const writer = recordWriter(schema.fields ?? [], compiling);
  compiling.definitions.set(schema.name, writer);
  return writer;
}

function scalarWriter(type: string): ContentWriter | undefined {
  switch (type) {
    case 'string':
      return (value, output) => writeText(value as string, output);
    case 'double':
      return writeDouble;
    case 'boolean':
      return (value, output) => writeLong(value === true ? -1 : 0, output);
    case 'int':
    case 'long':
      return (value, output) => writeLong(value as number, output);
    default:
      return undefined;
  }
}

function definedWriter(name: string, compiling: Compiling): ContentWriter {
  const found = compiling.definitions.get(name);
  if (found === undefined) throw new Error(`a row schema cannot hold the type ${name}`);
  return found;
}

function writeNull(_value: unknown, output: Output): void {
  reserve(output, 1);
  output.bytes[output.end++] = 0;
}

function nullable(write: ContentWriter): ContentWriter {
  return (value, output) => {
    reserve(output, SCALAR_BYTES_AT_MOST);
    output.bytes[output.end++] = value === null ? 0 : 2;
    if (value !== null) write(value, output);
  };
}

function writeDouble(value: unknown, output: Output): void {
  reserve(output, 8);
  output.end = output.bytes.writeDoubleLE(value as number, output.end);
}

/** Writes zigzag base 128 (Avro 1.12, "Primitive Types"), for integers of less than 53 bits: dates, times, lengths. */
export function writeLong(value: number, output: Output): void {
  reserve(output, SCALAR_BYTES_AT_MOST);
  const { bytes } = output;
  let rest = value >= 0 ? value * 2 : -value * 2 - 1;
  while (rest > 0x7f_ff_ff_ff) {
    bytes[output.end++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  while (rest > 127) {
    bytes[output.end++] = (rest & 127) | 128;
    rest >>= 7;
  }
  bytes[output.end++] = rest;
}

/** Writes an Avro string. Short ASCII texts, nearly all of them, are written byte by byte: a call into Node costs more. */
export function writeText(text: string, output: Output): void {
  const { length } = text;
  reserve(output, length * 3 + SCALAR_BYTES_AT_MOST);
  const { bytes } = output;
  if (length < 64) {
    let at = output.end;
    bytes[at++] = length * 2;
    let index = 0;
    for (; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code > 127) break;
      bytes[at++] = code;
    }
    if (index === length) {
      output.end = at;
      return;
    }
  }
  writeLong(Buffer.byteLength(text), output);
  output.end += bytes.write(text, output.end);
}

function arrayWriter(writeItem: ContentWriter, isSet: boolean): ContentWriter {
  return (value, output) => {
    const items = value as readonly unknown[];
    if (items.length > 0) {
      writeLong(items.length, output);
      if (isSet && items.length > 1) writeSorted(items, { writeItem, output });
      else for (const item of items) writeItem(item, output);
    }
    writeNull(null, output);
  };
}

function writeSorted(items: readonly unknown[], to: { writeItem: ContentWriter; output: Output }): void {
  const { writeItem, output } = to;
  const first = output.end;
  const ends = items.map((item) => {
    writeItem(item, output);
    return output.end;
  });
  // A copy, since the elements overwrite each other.
  const copy = Buffer.from(output.bytes.subarray(first, output.end));
  const slices = ends.map((end, index) => copy.subarray((ends[index - 1] ?? first) - first, end - first));
  let at = first;
  for (const slice of slices.sort((one, other) => one.compare(other))) at += slice.copy(output.bytes, at);
}

function reserve(output: Output, bytes: number): void {
  if (output.end + bytes <= output.bytes.length) return;
  const larger = Buffer.allocUnsafeSlow((output.end + bytes) * 2);
  output.bytes.copy(larger, 0, 0, output.end);
  output.bytes = larger;
}

import type { AvroDefinition, AvroField, AvroRecord, AvroSchema } from '../model/avro-schema.ts';

/**
 * Writes the bytes of a value that are hashed: its Avro body, with excluded fields as null and sets in the order of their
 * elements' bytes. With avsc this would need a copy of every value, and take twice as long.
 */

/** A growing buffer; `end` is the number of bytes written so far. */
export interface Output {
  bytes: Buffer;
  end: number;
}

export type ContentWriter = (value: unknown, output: Output) => void;

/** A long takes up to ten bytes, the branch of a union one more. */
const SCALAR_BYTES_AT_MOST = 11;

export interface ContentShape {
  /** Top-level fields written as null. The writer never writes `additionalFields`. */
  readonly without: ReadonlySet<string>;
  /** Fields of nested records written as null. */
  readonly withoutNested: ReadonlySet<string>;
  /** Arrays whose order carries no meaning, by the name of their field. */
  readonly sets: ReadonlySet<string>;
}

/** A writer of the schema's fields in their order, without `additionalFields`. */
export function compileContentWriter(schema: AvroRecord, shape: ContentShape): ContentWriter {
  const fields = schema.fields.filter(({ name }) => name !== 'additionalFields');
  return recordWriter(fields, { shape, without: shape.without, definitions: new Map() });
}

interface Compiling {
  readonly shape: ContentShape;
  readonly without: ReadonlySet<string>;
  readonly definitions: Map<string, ContentWriter>;
}

function recordWriter(fields: readonly AvroField[], compiling: Compiling): ContentWriter {
  const nested = { ...compiling, without: compiling.shape.withoutNested };
  const writers = fields.map(({ name, type }) => {
    // Compile excluded fields, too: one may define a type that other fields refer to.
    const write = compile(type, { ...nested, isSet: compiling.shape.sets.has(name) });
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

function isDefinition(schema: AvroSchema): schema is AvroDefinition {
  return typeof schema === 'object' && !Array.isArray(schema);
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

import type { AvroField } from '../../model/avro-schema.ts';
import { compileFields, type CompiledField } from './compile-schema.ts';
import { SCALAR_BYTES_AT_MOST, writeText } from './prefixed-text.ts';

/** Bytes written so far; the buffer grows. */
export interface Output {
  bytes: Buffer;
  end: number;
}

export type AvroWriter<T = unknown> = (value: T, output: Output) => void;

type Names = ReadonlySet<string>;

/** How the written bytes differ from the Avro body of a record. */
interface WriterOptions {
  /** Fields of the record that are written as null. */
  readonly without: Names;
  /** Fields of all records inside that record that are written as null. */
  readonly withoutWithin: Names;
  /** Names of arrays whose elements are written in the order of their bytes. */
  readonly sets: Names;
}

const NONE: Names = new Set();
const AS_IT_IS: WriterOptions = { without: NONE, withoutWithin: NONE, sets: NONE };
const NOTHING = Buffer.alloc(0);
const FEWEST_BYTES = 16 * 1024;
/** A larger buffer is not reused. */
const KEPT_BYTES_AT_MOST = 4 * 1024 * 1024;

/** Writes each value into the same buffer, so a result is valid only until the next call. */
export function intoOneBuffer<T>(write: AvroWriter<T>): (value: T) => Buffer {
  const output: Output = { bytes: NOTHING, end: 0 };
  return (value) => {
    if (output.bytes.length > KEPT_BYTES_AT_MOST) output.bytes = NOTHING;
    output.end = 0;
    write(value, output);
    return output.bytes.subarray(0, output.end);
  };
}

/** Compiles a writer for records with these fields. It writes the Avro body of a record, unless the options say otherwise. */
export function createWriter(fields: readonly AvroField[], options = AS_IT_IS): AvroWriter {
  const { without, withoutWithin, sets } = options;
  const compiled = compileFields<AvroWriter>(fields, {
    scalar: scalarWriter,
    nullable,
    array: (writeItem, name) => arrayWriter(writeItem, sets.has(name)),
    record: (members) => recordWriter(members, withoutWithin),
  });
  return recordWriter(compiled, without);
}

function recordWriter(fields: readonly CompiledField<AvroWriter>[], without: Names): AvroWriter {
  const writers = fields.map(({ name, compiled }) => ({
    name,
    write: without.has(name) ? writeNull : compiled,
  }));
  return (value, output) => {
    for (const { name, write } of writers) write((value as Record<string, unknown>)[name], output);
  };
}

function scalarWriter(type: string): AvroWriter | undefined {
  switch (type) {
    case 'string':
      return (value, output) => writeString(value as string, output);
    case 'double':
      return writeDouble;
    case 'boolean':
      return (value, output) => writeLong(value === true ? -1 : 0, output);
    case 'long':
    case 'date':
    case 'timestamp-millis':
      return (value, output) => writeLong(value as number, output);
    default:
      return undefined;
  }
}

function writeNull(_value: unknown, output: Output): void {
  reserve(output, 1);
  output.bytes[output.end++] = 0;
}

/** Writes a union of null and what `write` writes. */
export function nullable<T>(write: AvroWriter<T>): AvroWriter<T | null | undefined> {
  return (value, output) => {
    if (value === null || value === undefined) return writeNull(null, output);
    reserve(output, 1);
    output.bytes[output.end++] = 2;
    write(value, output);
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

/** Writes an Avro string. */
export function writeString(text: string, output: Output): void {
  reserve(output, text.length * 3 + SCALAR_BYTES_AT_MOST);
  output.end = writeText(output.bytes, output.end, text);
}

/** Writes bytes as they are. */
export function writeBytes(bytes: Buffer, output: Output): void {
  reserve(output, bytes.length);
  output.bytes.set(bytes, output.end);
  output.end += bytes.length;
}

function arrayWriter(writeItem: AvroWriter, isSet: boolean): AvroWriter {
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

function writeSorted(items: readonly unknown[], to: { writeItem: AvroWriter; output: Output }): void {
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
  const larger = Buffer.allocUnsafeSlow(Math.max(FEWEST_BYTES, (output.end + bytes) * 2));
  output.bytes.copy(larger, 0, 0, output.end);
  output.bytes = larger;
}

import avro from 'avsc';

import type { AvroSchema } from '../model/avro-schema.ts';

/** Avro bodies (unframed) of one schema. Longs and `timestamp-millis` are numbers, `date` is days since the epoch. */
export interface ValueCodec<Value> {
  /** Throws when the value does not have the schema's shape. */
  toBuffer(value: Value): Buffer;
  /** Throws when the bytes are not a value of the schema. */
  fromBuffer(body: Buffer): Value;
}

/** A codec for Rollcall's own values (`progress`, `rejects`, `class-students`), and for decoding any published value. */
export function createValueCodec<Value extends object>(schema: AvroSchema): ValueCodec<Value> {
  const type = avroType(schema, { wrapUnions: 'never' });
  return {
    toBuffer: (value) => type.toBuffer(value),
    fromBuffer: (body) => type.fromBuffer(body) as Value,
  };
}

const FIRST_SLAB_BYTES = 64 * 1024;
/** A larger buffer is not reused for later rows. */
const LARGEST_SLAB_BYTES = 4 * 1024 * 1024;

/** Encodes values into one shared buffer: a result is valid until the next call. */
export function createSlabEncoder(schema: AvroSchema): (value: object) => Buffer {
  const type = avroType(schema, { wrapUnions: 'never' });
  let slab = Buffer.allocUnsafeSlow(FIRST_SLAB_BYTES);
  return (value) => {
    const end = type.encode(value, slab);
    if (end >= 0) return slab.subarray(0, end);
    const body = type.toBuffer(value);
    if (body.length <= LARGEST_SLAB_BYTES) slab = Buffer.allocUnsafeSlow(body.length * 2);
    return body;
  };
}

/** The part of avsc's byte reader used here, which its type definitions leave out. */
interface Tap {
  isValid(): boolean;
  readLong(): number;
  skipLong(): void;
  readString(): string;
}

interface ReadableType {
  _read(tap: Tap): unknown;
}

/**
 * A map whose keys come from outside. avsc reads maps into plain objects, which lose a key `__proto__` and inherit
 * names like `constructor`. An object without a prototype treats these as ordinary keys.
 */
class BareMapType extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    const values = this.valuesType as unknown as ReadableType;
    const map = Object.create(null) as Record<string, unknown>;
    // Blocks until one of length 0 (Avro 1.12, "Maps"); a negative length is followed by the block's size in bytes.
    for (let length = tap.readLong(); length !== 0; length = tap.readLong()) {
      if (length < 0) tap.skipLong();
      for (let remaining = Math.abs(length); remaining > 0; remaining -= 1) {
        // In corrupt bytes a length can be anything. Stop here; avsc then reports that the bytes are no value.
        if (!tap.isValid()) return map;
        const key = tap.readString();
        map[key] = values._read(tap);
      }
    }
    return map;
  }
}

/** The avsc type of a schema; its maps have no prototype. Throws when `schema` is not a valid Avro schema. */
export function avroType(schema: AvroSchema, options: { wrapUnions?: 'never' } = {}): avro.Type {
  return avro.Type.forSchema(schema as avro.Schema, { ...options, typeHook: bareMaps });
}

/** A `typeHook` for avsc that reads maps into objects without a prototype. */
export function bareMaps(schema: unknown, options: avro.ForSchemaOptions): avro.Type | undefined {
  return isMap(schema) ? new BareMapType(schema, options) : undefined;
}

function isMap(schema: unknown): schema is avro.schema.MapType {
  return typeof schema === 'object' && schema !== null && (schema as { type?: unknown }).type === 'map';
}

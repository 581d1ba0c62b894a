import avro from 'avsc';

import type { AvroSchema } from '../model/avro-schema.ts';

/** What is used of avsc's reader of bytes; its type definitions do not tell of it. */
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
 * A map whose keys come from outside. avsc reads it into a plain object, which loses a key `__proto__` and has names
 * that nobody wrote, like `constructor`. Without a prototype, each of these is a name like any other.
 */
class BareMapType extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    const values = this.valuesType as unknown as ReadableType;
    const map = Object.create(null) as Record<string, unknown>;
    // Blocks until one of length 0 (Avro 1.12, "Maps"); a negative length is followed by the block's size in bytes.
    for (let length = tap.readLong(); length !== 0; length = tap.readLong()) {
      if (length < 0) tap.skipLong();
      for (let left = Math.abs(length); left > 0; left -= 1) {
        // Of broken bytes a length may be anything: whoever called avsc is told that they are no value.
        if (!tap.isValid()) return map;
        const key = tap.readString();
        map[key] = values._read(tap);
      }
    }
    return map;
  }
}

/** The avsc type of a schema, whose maps have no prototype. Throws for what is no Avro schema. */
export function avroType(schema: AvroSchema, options: { wrapUnions?: 'never' } = {}): avro.Type {
  return avro.Type.forSchema(schema as avro.Schema, { ...options, typeHook: bareMaps });
}

/** For avsc's options: makes maps without a prototype. */
export function bareMaps(schema: unknown, options: avro.ForSchemaOptions): avro.Type | undefined {
  return isMap(schema) ? new BareMapType(schema, options) : undefined;
}

function isMap(schema: unknown): schema is avro.schema.MapType {
  return typeof schema === 'object' && schema !== null && (schema as { type?: unknown }).type === 'map';
}

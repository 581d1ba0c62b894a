import avro from 'avsc';

import type { AvroSchema } from '../model/avro-schema.ts';

/** Avro bodies (unframed) of one schema. Longs and `timestamp-millis` are numbers, `date` is days since the epoch. */
export interface ValueCodec<Value> {
  /** Throws when the value does not have the schema's shape. */
  toBuffer(value: Value): Buffer;
  /** Throws when the bytes are not a value of the schema. */
  fromBuffer(body: Buffer): Value;
}

/** A codec for Rollcall's own values (such as `progress` and `rejects`), and for decoding any published value. */
export function createValueCodec<Value extends object>(schema: AvroSchema): ValueCodec<Value> {
  const type = avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never' });
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
  const type = avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never' });
  let slab = Buffer.allocUnsafeSlow(FIRST_SLAB_BYTES);
  return (value) => {
    const end = type.encode(value, slab);
    if (end >= 0) return slab.subarray(0, end);
    const body = type.toBuffer(value);
    if (body.length <= LARGEST_SLAB_BYTES) slab = Buffer.allocUnsafeSlow(body.length * 2);
    return body;
  };
}

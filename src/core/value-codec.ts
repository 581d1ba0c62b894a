import type { AvroSchema } from '../model/avro-schema.ts';
import { avroType } from './avro-type.ts';

/** Avro bodies (unframed) of one schema. Longs and `timestamp-millis` are numbers, `date` days since the epoch. */
export interface ValueCodec<Value> {
  /** Throws when the value does not have the schema's shape. */
  toBuffer(value: Value): Buffer;
  /** Throws when the bytes are not a value of the schema. */
  fromBuffer(body: Buffer): Value;
}

/** A codec for values of Rollcall's own (`progress`, `rejects`, `class-students`), and for reading any value back. */
export function createValueCodec<Value extends object>(schema: AvroSchema): ValueCodec<Value> {
  const type = avroType(schema, { wrapUnions: 'never' });
  return {
    toBuffer: (value) => type.toBuffer(value),
    fromBuffer: (body) => type.fromBuffer(body) as Value,
  };
}

const FIRST_SLAB_BYTES = 64 * 1024;
/** Beyond this, a row's bytes are not kept as a slab for the rows to come. */
const LARGEST_SLAB_BYTES = 4 * 1024 * 1024;

/** Encodes values one after another into the same memory, which holds each of them until the next. */
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

import avro from 'avsc';

import type { AvroSchema } from '../../model/avro-schema.ts';

/** Avro bodies (unframed) of one schema. Longs and `timestamp-millis` are numbers, `date` is days since the epoch. */
export interface ValueCodec<Value> {
  /** Throws when the value does not have the schema's shape. */
  toBuffer(value: Value): Buffer;
  /** Throws when the bytes are not a value of the schema. */
  fromBuffer(body: Buffer): Value;
}

/** A codec for Rollcall's own values (such as `progress` and `rejects`), and for decoding any published value. */
export function createValueCodec<Value extends object>(schema: AvroSchema): ValueCodec<Value> {
  let compiled: avro.Type | undefined;
  // Compiled at its first use, because compiling a schema takes milliseconds, and a start needs only few schemas.
  const type = (): avro.Type =>
    (compiled ??= avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never' }));
  return {
    toBuffer: (value) => type().toBuffer(value),
    fromBuffer: (body) => type().fromBuffer(body) as Value,
  };
}

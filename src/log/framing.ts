import type { TopicSuffix } from '../model/collections.ts';

const MAGIC_BYTE = 0;
/** Before the body. */
export const FRAME_BYTES = 5;

/** Confluent wire format: a zero byte, the schema's registry id as 4 bytes big-endian, the Avro body. */
export function frame(schemaId: number, body: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_BYTES + body.length);
  framed.writeUInt8(MAGIC_BYTE, 0);
  framed.writeInt32BE(schemaId, 1);
  body.copy(framed, FRAME_BYTES);
  return framed;
}

/** Whether a value may be one of {@link frame}'s. */
export function isFramed(value: Buffer): boolean {
  return value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE;
}

/** Frames a body with the schema of its topic. */
export type Framer = (topic: TopicSuffix, body: Buffer) => Buffer;

/** `schemaIds` is read with each record: the schemas are registered later. */
export function createFramer(schemaIds: ReadonlyMap<TopicSuffix, number>): Framer {
  return (topic, body) => {
    const id = schemaIds.get(topic);
    if (id === undefined) throw new Error(`no schema was registered for ${topic}`);
    return frame(id, body);
  };
}

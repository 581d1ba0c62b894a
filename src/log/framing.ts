import type { TopicSuffix } from '../model/collections.ts';

const MAGIC_BYTE = 0;
/** Length of the frame before the body. */
export const FRAME_BYTES = 5;

/** Frames a body in the Confluent wire format: a zero byte, the schema's registry id (4 bytes big-endian), the body. */
export function frame(schemaId: number, body: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_BYTES + body.length);
  framed.writeUInt8(MAGIC_BYTE, 0);
  framed.writeInt32BE(schemaId, 1);
  body.copy(framed, FRAME_BYTES);
  return framed;
}

/** Whether a value may have the format of {@link frame}. */
export function isFramed(value: Buffer): boolean {
  return value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE;
}

/** Frames a body with the schema of its topic. */
export type Framer = (topic: TopicSuffix, body: Buffer) => Buffer;

/** Reads `schemaIds` for each record, since the schemas are registered later. */
export function createFramer(schemaIds: ReadonlyMap<TopicSuffix, number>): Framer {
  return (topic, body) => {
    const id = schemaIds.get(topic);
    if (id === undefined) throw new Error(`no schema was registered for ${topic}`);
    return frame(id, body);
  };
}

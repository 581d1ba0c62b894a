import { STATE_TOPIC, type TopicSuffix } from '../model/collections.ts';

const MAGIC_BYTE = 0;
/** Length of the frame before the body. */
export const FRAME_BYTES = 5;

/**
 * Frames a body in the Confluent wire format: a zero byte, the schema's registry id (4 bytes big-endian), the body.
 * Returns a body without a schema as it is.
 */
export function frame(schemaId: number | null, body: Buffer): Buffer {
  if (schemaId === null) return body;
  const framed = Buffer.allocUnsafe(FRAME_BYTES + body.length);
  framed.set(body, writeFrameHead(framed, 0, schemaId));
  return framed;
}

/** Writes the frame of a body, and returns the position after it. */
export function writeFrameHead(into: Buffer, start: number, schemaId: number): number {
  into[start] = MAGIC_BYTE;
  into.writeInt32BE(schemaId, start + 1);
  return start + FRAME_BYTES;
}

/** Whether a value may have the format of {@link frame}. */
export function isFramed(value: Buffer): boolean {
  return value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE;
}

/** Returns the registry's id of a topic's schema; null for the changelog of the absence view, whose values have no schema and no frame. */
export type SchemaIds = (topic: TopicSuffix) => number | null;

/** Reads `schemaIds` for each record, since the schemas are registered later. */
export function createSchemaIds(schemaIds: ReadonlyMap<TopicSuffix, number>): SchemaIds {
  return (topic) => {
    if (topic === STATE_TOPIC) return null;
    const id = schemaIds.get(topic);
    if (id === undefined) throw new Error(`no schema was registered for ${topic}`);
    return id;
  };
}

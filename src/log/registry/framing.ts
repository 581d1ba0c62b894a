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

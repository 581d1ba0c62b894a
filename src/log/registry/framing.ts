const MAGIC_BYTE = 0;
/** Length of the frame before the body. */
export const FRAME_BYTES = 5;

/**
 * Writes the frame of a body, and returns the position after it. In the Confluent wire format, a zero byte and the
 * schema's id in the registry (4 bytes big-endian) come before the body.
 */
export function writeFrameHead(into: Buffer, start: number, schemaId: number): number {
  into[start] = MAGIC_BYTE;
  into.writeInt32BE(schemaId, start + 1);
  return start + FRAME_BYTES;
}

/** Whether a value may have a frame, see {@link writeFrameHead}. */
export function isFramed(value: Buffer): boolean {
  return value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE;
}

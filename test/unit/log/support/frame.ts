import { FRAME_BYTES, writeFrameHead } from '../../../../src/log/registry/framing.ts';

/** Puts a body into the Confluent wire format; a body without a schema stays as it is. */
export function frame(schemaId: number | null, body: Buffer): Buffer {
  if (schemaId === null) return body;
  const framed = Buffer.allocUnsafe(FRAME_BYTES + body.length);
  framed.set(body, writeFrameHead(framed, 0, schemaId));
  return framed;
}

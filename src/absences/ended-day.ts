const DAY_MS = 86_400_000;
const BYTES = 4;

/** Days since the epoch, UTC. */
export function dayNumber(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

export function encodeDay(day: number): Buffer {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeInt32BE(day);
  return bytes;
}

export function decodeDay(bytes: Buffer): number {
  return bytes.readInt32BE();
}

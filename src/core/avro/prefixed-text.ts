/** A long takes up to ten bytes, the branch of a union one more. */
export const SCALAR_BYTES_AT_MOST = 11;

/** Texts of this length or longer are written faster by native code. */
const SHORT_UNITS = 24;
/** Lengths below this take one byte. */
const ONE_BYTE_LENGTHS = 64;

/**
 * Writes a 32-bit integer as Avro and Kafka do: zigzag, then seven bits per byte, the lowest bits first. Returns the
 * position after it.
 */
export function writeVarint(bytes: Buffer, start: number, value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  let at = start;
  while (rest > 0x7f) {
    bytes[at] = (rest & 0x7f) | 0x80;
    at += 1;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}

/**
 * Writes a text with its length before it, as Avro and Kafka have it. Returns the position after it. There must be room for
 * three bytes a unit, and five more.
 */
export function writeText(bytes: Buffer, start: number, text: string): number {
  const { length } = text;
  if (length < SHORT_UNITS) {
    // In ASCII, each UTF-16 unit is one byte.
    let at = writeVarint(bytes, start, length);
    let unit = 0;
    for (; unit < length; unit += 1) {
      const code = text.charCodeAt(unit);
      if (code > 0x7f) break;
      bytes[at] = code;
      at += 1;
    }
    if (unit === length) return at;
  }
  // Measuring a text first costs as much as writing it, so its length is guessed to take one byte or two.
  const guessed = start + (length < ONE_BYTE_LENGTHS ? 1 : 2);
  const size = bytes.write(text, guessed);
  const at = writeVarint(bytes, start, size);
  if (at !== guessed) bytes.write(text, at);
  return at + size;
}

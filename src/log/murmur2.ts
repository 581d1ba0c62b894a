const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;
const SHIFT = 24;

/** Returns Kafka's murmur2 of the first `length` bytes, 32 bits with sign (org.apache.kafka.common.utils.Utils.murmur2). */
export function murmur2(bytes: Uint8Array, length: number): number {
  let hash = SEED ^ length;
  const tail = length & ~3;
  for (let at = 0; at < tail; at += 4) {
    let word = Math.imul(byteAt(bytes, at) | restOfWord(bytes, at), MULTIPLIER);
    word ^= word >>> SHIFT;
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word, MULTIPLIER);
  }
  if (length > tail) {
    for (let at = length - 1; at >= tail; at -= 1) hash ^= byteAt(bytes, at) << ((at - tail) * 8);
    hash = Math.imul(hash, MULTIPLIER);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, MULTIPLIER);
  return hash ^ (hash >>> 15);
}

function restOfWord(bytes: Uint8Array, at: number): number {
  return (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

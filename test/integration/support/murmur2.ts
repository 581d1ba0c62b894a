/**
 * Kafka's own hash of keys (org.apache.kafka.common.utils.Utils.murmur2), and the partition that follows from it. This code
 * follows the Java source, not the code of Rollcall or its client.
 */
export function partitionOfKey(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % partitions;
}

function murmur2(data: Buffer): number {
  const m = 0x5bd1e995;
  let h = 0x9747b28c ^ data.length;
  const whole = data.length - (data.length % 4);
  for (let at = 0; at < whole; at += 4) {
    let k = Math.imul(data.readInt32LE(at), m);
    k = Math.imul(k ^ (k >>> 24), m);
    h = Math.imul(h, m) ^ k;
  }
  const rest = data.length % 4;
  if (rest > 0) {
    for (let at = rest - 1; at >= 0; at -= 1) h ^= (data[whole + at] ?? 0) << (8 * at);
    h = Math.imul(h, m);
  }
  h = Math.imul(h ^ (h >>> 13), m);
  return h ^ (h >>> 15);
}

/**
 * A record during a comparison: the content hash from its header as 16 Latin-1 characters (lossless, and a quarter of
 * the memory of a Buffer), followed by a mark when the record is not sound.
 */
export type TopicEntry = string;

const HASH_BYTES = 16;
const UNSOUND = '!';

/** `hash` null: the record has no readable hash. */
export function topicEntry(hash: Buffer | null, isSound: boolean): TopicEntry {
  const text = hash?.length === HASH_BYTES ? hash.toString('latin1') : '\0'.repeat(HASH_BYTES);
  return isSound ? text : text + UNSOUND;
}

/** The hash as 16 Latin-1 characters; zeros when the record has none, as in the index. */
export function hashIn(entry: TopicEntry): string {
  return entry.slice(0, HASH_BYTES);
}

export function isSound(entry: TopicEntry): boolean {
  return entry.length === HASH_BYTES;
}

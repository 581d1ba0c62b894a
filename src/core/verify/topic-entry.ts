import { CONTENT_HASH_BYTES, HASH_OF_NO_ROW } from '../content-hash.ts';

/**
 * A record during a comparison: the content hash from its header as 16 Latin-1 characters (lossless, and a quarter of
 * the memory of a Buffer), followed by a mark when the record is not sound.
 */
export type TopicEntry = string;

const UNSOUND = '!';

/** `hash` null: the record has no readable hash. */
export function topicEntry(hash: Buffer | null, isSound: boolean): TopicEntry {
  const text = (hash?.length === CONTENT_HASH_BYTES ? hash : HASH_OF_NO_ROW).toString('latin1');
  return isSound ? text : text + UNSOUND;
}

/** The hash as 16 Latin-1 characters; zeros when the record has none, as in the index. */
export function hashIn(entry: TopicEntry): string {
  return entry.slice(0, CONTENT_HASH_BYTES);
}

export function isSound(entry: TopicEntry): boolean {
  return entry.length === CONTENT_HASH_BYTES;
}

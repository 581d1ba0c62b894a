/**
 * What is kept of a record while its topic is compared: the content hash that its header tells, as 16 Latin-1
 * characters (none of them lost, and a quarter of a Buffer), with a mark behind it where the record is not sound.
 */
export type TopicEntry = string;

const HASH_BYTES = 16;
const UNSOUND = '!';

/** `hash` null: the record names none that can be read. */
export function topicEntry(hash: Buffer | null, isSound: boolean): TopicEntry {
  const text = hash?.length === HASH_BYTES ? hash.toString('latin1') : '\0'.repeat(HASH_BYTES);
  return isSound ? text : text + UNSOUND;
}

/** As 16 Latin-1 characters; zeros where the record names none, as the index has it. */
export function hashIn(entry: TopicEntry): string {
  return entry.slice(0, HASH_BYTES);
}

export function isSound(entry: TopicEntry): boolean {
  return entry.length === HASH_BYTES;
}

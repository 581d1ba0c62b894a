import { createHash } from 'node:crypto';
import type { CollectionName } from '../model/collections.ts';

const DIGEST_CHARACTERS = 12;

/** A digest (12 hex digits) of a list of withheld removals; it depends on the collection and the keys, not their order. */
export function digestOfList(collection: CollectionName, keys: Iterable<string>): string {
  const text = JSON.stringify([collection, ...[...keys].sort()]);
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_CHARACTERS);
}

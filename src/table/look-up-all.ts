import type { CollectionIndex, IndexArea } from '../state/index-store.ts';

const KEYS_AT_ONCE = 5_000;

/** The values of any number of keys, null for none, all as of the transaction `at`. Throws `INDEX_DIVERGED`. */
export async function lookUpAll(
  index: Pick<CollectionIndex, 'lookup'>,
  { area, keys, at }: { area: IndexArea; keys: readonly string[]; at: string },
): Promise<Map<string, Buffer | null>> {
  const found = new Map<string, Buffer | null>();
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    const some = keys.slice(from, from + KEYS_AT_ONCE);
    const values = await index.lookup(area, some, at);
    for (const [offset, key] of some.entries()) found.set(key, values[offset] ?? null);
  }
  return found;
}

import type { IndexArea } from '../state/index-store.ts';
import type { LookUp } from './table.ts';

const KEYS_AT_ONCE = 5_000;

/** Divides keys into parts that are small enough for one look-up. */
export function* inParts(keys: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) yield keys.slice(from, from + KEYS_AT_ONCE);
}

/** Looks up any number of keys, and returns the values of those that exist. Throws `INDEX_DIVERGED`. */
export async function lookUpAll(
  lookUp: LookUp,
  area: IndexArea,
  keys: readonly string[],
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const some of inParts(keys)) {
    const values = await lookUp(area, some);
    for (const [at, key] of some.entries()) {
      const value = values[at] ?? null;
      if (value !== null) found.set(key, value);
    }
  }
  return found;
}

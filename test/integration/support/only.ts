import { COLLECTIONS, type CollectionName } from '../../../src/model/collections.ts';

/** Settings that leave only these collections on, each with its own. */
export function only(
  settings: Partial<Record<CollectionName, Record<string, unknown>>>,
): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    COLLECTIONS.map((name) => [name, { enabled: settings[name] !== undefined, ...settings[name] }]),
  );
}

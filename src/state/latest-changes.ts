import type { IndexChange } from './index-store.ts';

/** What is left to do of some changes, by area: the last one of each key. */
export interface LatestChanges {
  readonly rows: ReadonlyMap<string, Buffer | null>;
  readonly rejects: ReadonlyMap<string, Buffer | null>;
}

/** Keys become what UTF-8 makes of them, as in Kafka: half a surrogate pair is the replacement character. */
export function latestChanges(changes: readonly IndexChange[]): LatestChanges {
  const rows = new Map<string, Buffer | null>();
  const rejects = new Map<string, Buffer | null>();
  for (const change of changes) {
    (change.area === 'rows' ? rows : rejects).set(change.key.toWellFormed(), change.hash);
  }
  return { rows, rejects };
}

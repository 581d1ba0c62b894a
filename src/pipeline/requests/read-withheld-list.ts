import { digestOfList } from '../../core/withheld-digest.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import type { DeletionMemory } from '../../state/index-store.ts';
import { countWaiting, whoseTripWithholds } from '../withheld-deletions.ts';

/** Removals of a collection that need a decision. */
export interface WithheldList {
  readonly collection: CollectionName;
  /** Sorted; at most 100,000. Empty when nothing is withheld, or when the list was lost with the index. */
  readonly keys: readonly string[];
  /** Number of withheld removals, including those that no list holds. */
  readonly count: number;
  /** When the oldest of them was withheld, ms since the epoch; null without a list. */
  readonly sinceMs: number | null;
  readonly why: string | null;
  /** The collection whose losses withhold these removals; null when they are this one's own. */
  readonly heldBy: CollectionName | null;
  /** Null without a list. */
  readonly digest: string | null;
}

export async function readWithheldList(
  memory: DeletionMemory,
  collection: CollectionName,
  progress: Progress | null,
): Promise<WithheldList> {
  const listed = await memory.withheld(collection);
  const note = await memory.note(collection);
  const tripped = await memory.tripped();
  const keys = [...listed.keys()].sort();
  const isByOther = keys.length > 0 && !tripped.has(collection);
  let sinceMs: number | null = null;
  for (const since of listed.values()) sinceMs = Math.min(since, sinceMs ?? since);
  return {
    collection,
    keys,
    count: countWaiting({ listed: keys.length, note, progress }),
    sinceMs,
    why: note?.why ?? null,
    heldBy: isByOther ? (whoseTripWithholds(collection, tripped) ?? null) : null,
    digest: keys.length === 0 ? null : digestOfList(collection, keys),
  };
}

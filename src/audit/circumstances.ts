import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { ReadOnlyLog } from '../log/read-only-log.ts';
import type { IndexArea, TenantState } from '../state/index-store.ts';
import { RollcallError } from '../errors.ts';
import { lookUpAll } from '../table/look-up-all.ts';

export interface CircumstanceParts {
  readonly log: ReadOnlyLog;
  /** Null when the index lives in the memory of another process, or is not reachable. */
  readonly state: TenantState | null;
}

/** The present state of a collection, apart from its rows and records. */
export interface KnownOfCollection {
  readonly progress: Progress | null;
  readonly withheld: ReadonlySet<string>;
  /** Removals are withheld, and which ones is not known: any deletion can be one of them. */
  readonly isListLost: boolean;
}

export async function readKnown(
  parts: CircumstanceParts,
  collection: CollectionName,
  signal: AbortSignal,
): Promise<KnownOfCollection> {
  const progress = (await parts.log.progress(signal)).progress.get(collection) ?? null;
  const isHeld = progress?.deletions?.heldSinceMs != null;
  const missing = isHeld && parts.state !== null ? await parts.state.deletions.missing(collection) : null;
  const isListLost = isHeld && missing?.syncId !== progress.deletions?.settledBy;
  return { progress, withheld: new Set(isListLost ? [] : missing?.keys.keys()), isListLost };
}

const ATTEMPTS = 5;

/** The values of keys in the index, all at one position; undefined when it has no position, or changes too often. */
export async function lookUpIndex(
  { state }: CircumstanceParts,
  collection: CollectionName,
  { area, keys }: { area: IndexArea; keys: readonly string[] },
): Promise<ReadonlyMap<string, Buffer | null> | undefined> {
  if (state === null || keys.length === 0) return undefined;
  const index = state.collection(collection);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const position = await index.position();
    if (position === null) return undefined;
    try {
      return await lookUpAll(index, { area, keys, at: position.transactionId });
    } catch (error) {
      // The index changed during the reads: try again.
      if (!(error instanceof RollcallError) || error.code !== 'INDEX_DIVERGED') throw error;
    }
  }
  return undefined;
}

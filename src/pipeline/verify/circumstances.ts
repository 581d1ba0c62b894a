import type { Admin, Kafka } from 'kafkajs';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import { readKnownProgress } from '../../log/progress-reader.ts';
import type { Registry } from '../../log/registry.ts';
import type { IndexArea, TenantState } from '../../state/index-store.ts';
import { RollcallError } from '../../errors.ts';
import { countWithheld } from '../withholding.ts';

export interface CircumstanceParts {
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly registry: Registry;
  readonly topicPrefix: string;
  readonly tenantId: string;
  /** Null where the index lives in the memory of another process, or cannot be reached. */
  readonly state: TenantState | null;
}

/** What is known of a collection beside its rows and records, now. */
export interface KnownOfCollection {
  readonly progress: Progress | null;
  readonly withheld: ReadonlySet<string>;
  /** More deletions wait for a person than are listed: any may be among them. */
  readonly isListLost: boolean;
}

export async function readKnown(
  parts: CircumstanceParts,
  collection: CollectionName,
  signal: AbortSignal,
): Promise<KnownOfCollection> {
  const known = await readKnownProgress({ ...parts, tenantIds: [parts.tenantId], signal });
  const progress = known.get(parts.tenantId)?.progress.get(collection) ?? null;
  if (parts.state === null) {
    const isListLost = (progress?.lastCompleteFull?.rowsWithheld ?? 0) > 0;
    return { progress, withheld: new Set(), isListLost };
  }
  const { deletions } = parts.state;
  const listed = await deletions.withheld(collection);
  const count = await countWithheld(deletions, collection, progress);
  return { progress, withheld: new Set(listed.keys()), isListLost: count > listed.size };
}

const KEYS_AT_ONCE = 5_000;
const ATTEMPTS = 5;

/** What the index says of keys, as of one of its positions; undefined where it has none, or changes all the time. */
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
      const found = new Map<string, Buffer | null>();
      for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
        const some = keys.slice(at, at + KEYS_AT_ONCE);
        const values = await index.lookup(area, some, position.transactionId);
        for (const [offset, key] of some.entries()) found.set(key, values[offset] ?? null);
      }
      return found;
    } catch (error) {
      // Somebody writes: once more.
      if (!(error instanceof RollcallError) || error.code !== 'INDEX_DIVERGED') throw error;
    }
  }
  return undefined;
}

import { whyWithhold, type GuardLimits } from '../core/deletion-guard.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { DeletionMemory } from '../state/index-store.ts';
import type { CollectionWriter, UnseenKeys } from './collection-writer.ts';

export interface DeletionParts {
  readonly collection: CollectionName;
  readonly writer: CollectionWriter;
  readonly memory: DeletionMemory;
  /** Every collection of the tenant: what one withholds, all withhold. */
  readonly tenantCollections: readonly CollectionName[];
  /** Rows known now, of any of them. */
  readonly knownRows: (collection: CollectionName) => number;
  readonly limits: GuardLimits;
  /** Which of these keys the hub still has; throws when that cannot be told. */
  readonly findExisting: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
  /** `YYYY-MM-DD` in the tenant's time zone. */
  readonly today: () => string;
  readonly now: () => number;
  readonly say: (event: DeletionEvent) => void;
}

export type DeletionEvent =
  | {
      readonly kind: 'withheld';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly why: string;
    }
  /** The hub counts more rows than it gave. */
  | { readonly kind: 'short'; readonly collection: CollectionName; readonly why: string }
  | { readonly kind: 'unproven'; readonly collection: CollectionName; readonly why: string }
  | {
      readonly kind: 'second-pass';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly why: string;
    };

/** How many removals of a collection wait for a person: as listed, or, where the list was lost, as the log says. */
export async function countWithheld(
  memory: DeletionMemory,
  collection: CollectionName,
  progress: Progress | null,
): Promise<number> {
  const { size } = await memory.withheld(collection);
  return size > 0 ? size : (progress?.lastCompleteFull?.rowsWithheld ?? 0);
}

/** What a pass's losses must wait with. */
export interface Held {
  readonly keys: readonly string[];
  readonly count: number;
  readonly why: string;
}

/**
 * What must wait for a person; null when everything may go out. What was withheld once stays so until it is approved
 * or back: a hub that recovers bit by bit must not delete the rest, nor must midnight or a lost index.
 */
export async function holdBack(options: {
  parts: DeletionParts;
  unseen: UnseenKeys;
  losses: readonly string[];
  emptiedKeys: ReadonlySet<string>;
  listed: ReadonlyMap<string, number>;
  withheldBefore: number;
  knownRowsBefore: number;
}): Promise<Held | null> {
  const { parts, unseen, losses, emptiedKeys, listed, withheldBefore, knownRowsBefore } = options;
  if (unseen.count > unseen.keys.length) {
    return {
      keys: unseen.keys,
      count: unseen.count,
      why: `${unseen.count} rows were not found, more than can be listed`,
    };
  }
  if (withheldBefore > 0 && listed.size === 0) {
    // Which ones they were is no longer known: all that is gone may be among them.
    const keys = [...new Set([...unseen.keys, ...emptiedKeys])];
    const why = `${withheldBefore} deletions waited for a person when the index was lost`;
    return keys.length === 0 ? null : { keys, count: keys.length, why };
  }
  const unseenKeys = new Set(unseen.keys);
  const standing = [...listed.keys()].filter((key) => unseenKeys.has(key) || emptiedKeys.has(key));
  if (standing.length > 0) {
    const keys = [...new Set([...standing, ...losses])];
    return { keys, count: keys.length, why: `${standing.length} earlier deletions wait for a person` };
  }
  const why = await whyHoldBack(parts, losses.length, knownRowsBefore);
  return why === null ? null : { keys: losses, count: losses.length, why };
}

async function whyHoldBack(
  parts: DeletionParts,
  deletions: number,
  knownRows: number,
): Promise<string | null> {
  if (deletions === 0) return null;
  const today = await parts.memory.removedOn(parts.today());
  const deletedEarlierToday = today.get(parts.collection) ?? 0;
  const own = whyWithhold({ deletions, deletedEarlierToday, knownRows }, parts.limits);
  if (own !== null) return own;
  for (const other of parts.tenantCollections) {
    if (other === parts.collection) continue;
    const { size } = await parts.memory.withheld(other);
    // Held back for its own sake, and not only because a third one is: else two could hold each other for ever.
    const tripped = whyWithhold(
      {
        deletions: size,
        deletedEarlierToday: today.get(other) ?? 0,
        knownRows: parts.knownRows(other),
      },
      parts.limits,
    );
    if (tripped !== null) return `deletions of ${other} wait for a person`;
  }
  return null;
}

/** Adds to what waits for a person, or keeps it. */
export async function withhold(parts: DeletionParts, keys: readonly string[]): Promise<void> {
  const before = await parts.memory.withheld(parts.collection);
  const nowMs = parts.now();
  await parts.memory.setWithheld(
    parts.collection,
    new Map(keys.map((key) => [key, before.get(key) ?? nowMs])),
  );
}

import { whyWithhold, type GuardLimits } from '../core/deletion-guard.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { DeletionMemory } from '../state/index-store.ts';
import type { CollectionWriter, UnseenKeys } from './collection-writer.ts';

export interface DeletionParts {
  readonly collection: CollectionName;
  readonly writer: CollectionWriter;
  readonly memory: DeletionMemory;
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
  /** The collection's own numbers are why; then all of the tenant's wait with it. */
  readonly isOwn: boolean;
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
      isOwn: true,
    };
  }
  const { collection, memory } = parts;
  const tripped = await memory.tripped();
  if (withheldBefore > 0 && listed.size === 0) {
    // Which ones they were is no longer known: all that is gone may be among them.
    const keys = [...new Set([...unseen.keys, ...emptiedKeys])];
    const why = `${withheldBefore} deletions waited for a person when the index was lost`;
    return keys.length === 0 ? null : { keys, count: keys.length, why, isOwn: true };
  }
  const unseenKeys = new Set(unseen.keys);
  const standing = [...listed.keys()].filter((key) => unseenKeys.has(key) || emptiedKeys.has(key));
  const keys = [...new Set([...standing, ...losses])];
  if (tripped.has(collection) && standing.length > 0) {
    return {
      keys,
      count: keys.length,
      why: `${standing.length} earlier deletions wait for a person`,
      isOwn: true,
    };
  }
  const why = await whyTripped(parts, losses.length, knownRowsBefore);
  if (why !== null) return { keys, count: keys.length, why, isOwn: true };
  // Held only because another collection's wait: released with them.
  const other = whoseTripHolds(collection, tripped);
  if (other === undefined || keys.length === 0) return null;
  return { keys, count: keys.length, why: `deletions of ${other} wait for a person`, isOwn: false };
}

/**
 * Another collection whose withheld deletions hold this one's as well; undefined for none. Schedules come from the Core
 * API, another service with rights of its own: what it loses says nothing of the others, and must not hold up absences.
 */
export function whoseTripHolds(
  collection: CollectionName,
  tripped: ReadonlySet<CollectionName>,
): CollectionName | undefined {
  return [...tripped].find((each) => each !== collection && each !== 'schedules');
}

/** Why a collection's own numbers are too high; null when they are not. */
async function whyTripped(
  parts: DeletionParts,
  deletions: number,
  knownRows: number,
): Promise<string | null> {
  if (deletions === 0) return null;
  const today = await parts.memory.removedOn(parts.today());
  const deletedEarlierToday = today.get(parts.collection) ?? 0;
  return whyWithhold({ deletions, deletedEarlierToday, knownRows }, parts.limits);
}

/** Adds to what waits for a person, or keeps it. */
export async function withhold(parts: DeletionParts, held: Held): Promise<void> {
  const { collection, memory } = parts;
  const before = await memory.withheld(collection);
  const nowMs = parts.now();
  if (held.isOwn) await memory.setTripped(collection, true);
  await memory.setWithheld(collection, new Map(held.keys.map((key) => [key, before.get(key) ?? nowMs])));
}

/** Nothing of the collection waits any more. */
export async function release({ collection, memory }: DeletionParts): Promise<void> {
  await memory.setWithheld(collection, new Map());
  await memory.setTripped(collection, false);
}

import { isNotable, whyTogether, whyWithhold, type GuardLimits } from '../core/deletion-guard.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { DeletionMemory, DeletionNote } from '../state/index-store.ts';
import type { CollectionWriter } from './collection-writer.ts';
import type { FoundKeys } from './table.ts';

export interface DeletionParts {
  readonly collection: CollectionName;
  readonly writer: CollectionWriter;
  readonly memory: DeletionMemory;
  readonly limits: GuardLimits;
  /** The keys that the hub still has; throws when the hub does not answer conclusively. */
  readonly findExisting: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
  /** `YYYY-MM-DD` in the tenant's time zone. */
  readonly today: () => string;
  readonly now: () => number;
  readonly emit: (event: DeletionEvent) => void;
  /** All mirrored collections of the tenant; undefined: unknown. */
  readonly mirrored?: readonly CollectionName[] | undefined;
  /** The tenant's other collections of the same service, with their numbers of known rows. */
  readonly others: () => readonly { readonly collection: CollectionName; readonly knownRows: number }[];
}

export type DeletionEvent =
  | {
      readonly kind: 'withheld';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly why: string;
    }
  /** The hub counts more rows than it returned. */
  | { readonly kind: 'short'; readonly collection: CollectionName; readonly why: string }
  /** A person approved removals, and they were published. */
  | { readonly kind: 'approved'; readonly collection: CollectionName; readonly rows: number }
  /** A person discarded a list: nothing was removed. */
  | { readonly kind: 'discarded'; readonly collection: CollectionName; readonly rows: number }
  /** Removals that were already withheld at the take-over. */
  | { readonly kind: 'waiting'; readonly collection: CollectionName; readonly rows: number }
  | { readonly kind: 'unproven'; readonly collection: CollectionName; readonly why: string }
  | {
      readonly kind: 'second-sync';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly why: string;
    };

/** Number of withheld removals of a collection, from the list, or from the log when the list was lost. */
export async function countWithheld(
  memory: DeletionMemory,
  collection: CollectionName,
  progress: Progress | null,
): Promise<number> {
  const listed = (await memory.withheld(collection)).size;
  return countWaiting({ listed, note: await memory.note(collection), progress });
}

/** The same from values that are already read. A person's decision takes precedence over the log. */
export function countWaiting(known: {
  readonly listed: number;
  readonly note: DeletionNote | null;
  readonly progress: Progress | null;
}): number {
  const { listed, note, progress } = known;
  if (listed > 0) return Math.max(listed, note?.count ?? 0);
  const full = progress?.lastCompleteFull ?? null;
  // The loss of a topic withdraws the last complete sync from the progress, but not what is withheld.
  if (full === null) return progress?.rowsWithheld ?? 0;
  return full.passId === note?.settledPassId ? 0 : full.rowsWithheld;
}

/**
 * The number of withheld removals in the log when the list holds fewer, because it was lost or is an older state. 0 when
 * the list is complete.
 */
async function countUnlisted(
  parts: Pick<DeletionParts, 'collection' | 'writer' | 'memory'>,
): Promise<number> {
  const { collection, memory, writer } = parts;
  const note = await memory.note(collection);
  const logged = countWaiting({ listed: 0, note, progress: writer.progress });
  return (await memory.withheld(collection)).size < logged ? logged : 0;
}

/**
 * At the start of a session: trips the guard again for a collection whose list was lost, so that it still withholds other
 * collections' removals. Schedules withhold nothing of others (see {@link whoseTripWithholds}).
 */
export async function restoreTrip(
  memory: DeletionMemory,
  collection: CollectionName,
  progress: Progress | null,
): Promise<void> {
  if (collection === 'schedules') return;
  const logged = countWaiting({ listed: 0, note: await memory.note(collection), progress });
  if ((await memory.withheld(collection)).size < logged) await memory.setTripped(collection, true);
}

/** Losses of a sync that need a decision. */
export interface Withheld {
  readonly keys: readonly string[];
  readonly count: number;
  readonly why: string;
  /** The collection's own losses are the reason; they withhold the other collections' removals as well. */
  readonly isOwn: boolean;
}

/**
 * The losses that need a decision; null when all may be published. A withheld row stays withheld until it is approved or
 * back: neither a hub that recovers step by step, nor midnight, nor a lost index may release the rest.
 */
export async function withholdAll(options: {
  parts: DeletionParts;
  unseen: FoundKeys;
  losses: readonly string[];
  keysThatBecameEmpty: ReadonlySet<string>;
  listed: ReadonlyMap<string, number>;
  knownRowsBefore: number;
  /** The hub's answer has no rows at all: whatever is lost by it needs a decision. */
  whyEmpty: string | null;
}): Promise<Withheld | null> {
  const { parts, unseen, losses, keysThatBecameEmpty, listed, knownRowsBefore, whyEmpty } = options;
  if (unseen.count > unseen.keys.length) {
    return {
      keys: unseen.keys,
      count: unseen.count,
      why: `${unseen.count} rows are missing, more than a list can hold`,
      isOwn: true,
    };
  }
  const { collection, memory } = parts;
  const tripped = await memory.tripped();
  const unlisted = await countUnlisted(parts);
  if (unlisted > 0) {
    // The keys are lost with the list: every missing row may have been on it.
    const keys = [...new Set([...unseen.keys, ...keysThatBecameEmpty])];
    const why = `${unlisted} deletions needed a decision when their list was lost`;
    return keys.length === 0 ? null : { keys, count: keys.length, why, isOwn: true };
  }
  const unseenKeys = new Set(unseen.keys);
  const standing = [...listed.keys()].filter((key) => unseenKeys.has(key) || keysThatBecameEmpty.has(key));
  const keys = [...new Set([...standing, ...losses])];
  if (whyEmpty !== null && keys.length > 0) return { keys, count: keys.length, why: whyEmpty, isOwn: true };
  if (tripped.has(collection) && standing.length > 0) {
    return {
      keys,
      count: keys.length,
      why: `${standing.length} earlier deletions need a decision`,
      isOwn: true,
    };
  }
  const why =
    (await whyTripped(parts, losses.length, knownRowsBefore)) ??
    (await whyWithOthers(parts, { deletions: losses.length, knownRows: knownRowsBefore }));
  if (why !== null) return { keys, count: keys.length, why, isOwn: true };
  // Withheld only because of another collection, and released with it.
  const other = await whyOthersWithhold(parts);
  if (other === null || keys.length === 0) return null;
  return { keys, count: keys.length, why: other, isOwn: false };
}

/** Why other collections withhold this one's removals; null when they do not. */
export async function whyOthersWithhold({
  collection,
  memory,
  mirrored,
}: Pick<DeletionParts, 'collection' | 'memory' | 'mirrored'>): Promise<string | null> {
  const identity = [...(await memory.wrongTenant()).keys()].find((each) => each !== collection);
  if (identity !== undefined) return `almost none of the hub's rows for ${identity} match the published ones`;
  const tripped = whoseTripWithholds(collection, await memory.tripped(), mirrored);
  return tripped === undefined ? null : `deletions of ${tripped} need a decision`;
}

/**
 * Another collection whose withheld deletions withhold this one's as well; undefined for none. Schedules come from the
 * Core API, another service with rights of its own: its losses prove nothing about other collections, and must not delay
 * absences. Nor does a disabled collection withhold any, as no one could decide on its list.
 */
export function whoseTripWithholds(
  collection: CollectionName,
  tripped: ReadonlySet<CollectionName>,
  mirrored?: readonly CollectionName[],
): CollectionName | undefined {
  const isMirrored = (each: CollectionName): boolean => mirrored?.includes(each) ?? true;
  return [...tripped].find((each) => each !== collection && each !== 'schedules' && isMirrored(each));
}

/** Why a collection's own losses are too many; null when they are not. */
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

/** Why a small loss is too large together with the other collections' losses of the day; null when it is not. */
async function whyWithOthers(
  { memory, limits, today, others }: DeletionParts,
  own: { deletions: number; knownRows: number },
): Promise<string | null> {
  if (!isNotable(own, limits)) return null;
  const removed = await memory.removedOn(today());
  const losses: { deletions: number; knownRows: number }[] = [];
  for (const { collection, knownRows } of others()) {
    const published = removed.get(collection) ?? 0;
    const listed = (await memory.withheld(collection)).size;
    const waiting = Math.max(listed, (await memory.missing(collection)).size);
    losses.push({ deletions: published + waiting, knownRows: knownRows + published });
  }
  return whyTogether(own, losses, limits);
}

/**
 * Stores the withheld list. Call this before the sync is committed. `keep`: keys about to be removed, which stay on the
 * list until they are.
 */
export async function withhold(
  parts: DeletionParts,
  withheld: Withheld,
  keep: readonly string[] = [],
): Promise<void> {
  const { collection, memory } = parts;
  if (withheld.isOwn) await memory.setTripped(collection, true);
  await setList(parts, withheld, keep);
}

/**
 * Removes decided keys from the list. Call this after the commit: it lifts caution, and a process that crashes before is
 * only too careful.
 */
export async function reconcileList(
  parts: DeletionParts,
  withheld: Withheld | null,
  kept: readonly string[] = [],
): Promise<void> {
  if (withheld === null) return clearList(parts);
  if (kept.length > 0) await setList(parts, withheld, []);
  if (!withheld.isOwn) await parts.memory.setTripped(parts.collection, false);
}

async function setList(parts: DeletionParts, withheld: Withheld, keep: readonly string[]): Promise<void> {
  const { collection, memory } = parts;
  const before = await memory.withheld(collection);
  const nowMs = parts.now();
  const keys = [...withheld.keys, ...keep];
  await memory.setWithheld(collection, new Map(keys.map((key) => [key, before.get(key) ?? nowMs])));
  await memory.setNote(collection, {
    why: withheld.why,
    count: withheld.count + keep.length,
    settledPassId: null,
  });
}

/** Nothing of the collection is withheld any more. */
async function clearList({
  collection,
  memory,
}: Pick<DeletionParts, 'collection' | 'memory'>): Promise<void> {
  await memory.setWithheld(collection, new Map());
  await memory.setNote(collection, null);
  await memory.setTripped(collection, false);
}

/** A person discards the list: nothing is removed, and the next full sync decides again. */
export async function discardList(
  parts: Pick<DeletionParts, 'collection' | 'memory' | 'writer' | 'emit'>,
): Promise<void> {
  const { collection, memory, writer, emit } = parts;
  const rows = await countWithheld(memory, collection, writer.progress);
  // Write the note first: without list and note, the number in the log would count.
  await noteDecided(parts);
  await memory.setWithheld(collection, new Map());
  await memory.setTripped(collection, false);
  emit({ kind: 'discarded', collection, rows });
}

/** Notes that everything the last complete full sync withheld is decided, although the log still counts it. */
export async function noteDecided({
  collection,
  memory,
  writer,
}: Pick<DeletionParts, 'collection' | 'memory' | 'writer'>): Promise<void> {
  await memory.setNote(collection, {
    why: null,
    count: 0,
    settledPassId: writer.progress?.lastCompleteFull?.passId ?? null,
  });
}

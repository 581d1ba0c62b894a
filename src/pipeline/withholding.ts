import { isNotable, whyTogether, whyWithhold, type GuardLimits } from '../core/deletion-guard.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { DeletionMemory, DeletionNote } from '../state/index-store.ts';
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
  readonly emit: (event: DeletionEvent) => void;
  /** All of the tenant's collections that are mirrored; left out: not known. */
  readonly mirrored?: readonly CollectionName[] | undefined;
  /** The tenant's other collections of the same service, with the rows known of each. */
  readonly others: () => readonly { readonly collection: CollectionName; readonly knownRows: number }[];
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
  /** A person has approved them, and they were removed. */
  | { readonly kind: 'approved'; readonly collection: CollectionName; readonly rows: number }
  /** A person has said that they are not to wait any more: nothing was removed. */
  | { readonly kind: 'discarded'; readonly collection: CollectionName; readonly rows: number }
  /** What was already waiting when the tenant was taken over. */
  | { readonly kind: 'waiting'; readonly collection: CollectionName; readonly rows: number }
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
  const listed = (await memory.withheld(collection)).size;
  return countWaiting({ listed, note: await memory.note(collection), progress });
}

/** The same of what was read before. What a person has decided on waits no more, whatever the log says. */
export function countWaiting(known: {
  readonly listed: number;
  readonly note: DeletionNote | null;
  readonly progress: Progress | null;
}): number {
  const { listed, note, progress } = known;
  if (listed > 0) return Math.max(listed, note?.count ?? 0);
  const full = progress?.lastCompleteFull ?? null;
  // A topic that lost its records takes the last complete pass with it, but not what waits.
  if (full === null) return progress?.rowsWithheld ?? 0;
  return full.passId === note?.settledPassId ? 0 : full.rowsWithheld;
}

/**
 * How many waited by the log's word where the list holds fewer: it was lost, or restored from before. 0 where the list
 * is whole.
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
 * At the beginning: a list that was lost holds the other collections' removals back as it did before, though the memory
 * no longer says so. Schedules hold nobody (see {@link whoseTripWithholds}).
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

/** What a pass's losses must wait with. */
export interface Withheld {
  readonly keys: readonly string[];
  readonly count: number;
  readonly why: string;
  /** The collection's own numbers are why; then all of the tenant's wait with it. */
  readonly isOwn: boolean;
  /** Of a collection that is said to have no rows: the pass that heard it last. */
  readonly emptyPassId?: string | undefined;
}

/**
 * What must wait for a person; null when everything may go out. What was withheld once stays so until it is approved
 * or back: a hub that recovers bit by bit must not delete the rest, nor must midnight or a lost index.
 */
export async function withholdAll(options: {
  parts: DeletionParts;
  unseen: UnseenKeys;
  losses: readonly string[];
  keysThatBecameEmpty: ReadonlySet<string>;
  listed: ReadonlyMap<string, number>;
  knownRowsBefore: number;
}): Promise<Withheld | null> {
  const { parts, unseen, losses, keysThatBecameEmpty, listed, knownRowsBefore } = options;
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
  const unlisted = await countUnlisted(parts);
  if (unlisted > 0) {
    // Which ones they were is no longer known: all that is gone may be among them.
    const keys = [...new Set([...unseen.keys, ...keysThatBecameEmpty])];
    const why = `${unlisted} deletions waited for a person when the list of them was lost`;
    return keys.length === 0 ? null : { keys, count: keys.length, why, isOwn: true };
  }
  const unseenKeys = new Set(unseen.keys);
  const standing = [...listed.keys()].filter((key) => unseenKeys.has(key) || keysThatBecameEmpty.has(key));
  const keys = [...new Set([...standing, ...losses])];
  if (tripped.has(collection) && standing.length > 0) {
    return {
      keys,
      count: keys.length,
      why: `${standing.length} earlier deletions wait for a person`,
      isOwn: true,
    };
  }
  const why =
    (await whyTripped(parts, losses.length, knownRowsBefore)) ??
    (await whyWithOthers(parts, { deletions: losses.length, knownRows: knownRowsBefore }));
  if (why !== null) return { keys, count: keys.length, why, isOwn: true };
  // Held only because of another collection: released with it.
  const other = await whyOthersWithhold(parts);
  if (other === null || keys.length === 0) return null;
  return { keys, count: keys.length, why: other, isOwn: false };
}

/** Why a collection's removals wait though its own numbers are low; null when they need not. */
export async function whyOthersWithhold({
  collection,
  memory,
  mirrored,
}: Pick<DeletionParts, 'collection' | 'memory' | 'mirrored'>): Promise<string | null> {
  const identity = [...(await memory.wrongTenant()).keys()].find((each) => each !== collection);
  if (identity !== undefined) return `the hub gives quite other rows for ${identity} than there were`;
  const tripped = whoseTripWithholds(collection, await memory.tripped(), mirrored);
  return tripped === undefined ? null : `deletions of ${tripped} wait for a person`;
}

/**
 * Another collection whose withheld deletions hold this one's as well; undefined for none. Schedules come from the Core
 * API, another service with rights of its own: what it loses says nothing of the others, and must not hold up absences.
 * Nor does a collection that was switched off hold any: nobody could decide on its list.
 */
export function whoseTripWithholds(
  collection: CollectionName,
  tripped: ReadonlySet<CollectionName>,
  mirrored?: readonly CollectionName[],
): CollectionName | undefined {
  const isMirrored = (each: CollectionName): boolean => mirrored?.includes(each) ?? true;
  return [...tripped].find((each) => each !== collection && each !== 'schedules' && isMirrored(each));
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

/** Why a loss that is small by itself is too much together with what others lose that day; null when it is not. */
async function whyWithOthers(
  { memory, limits, today, others }: DeletionParts,
  own: { deletions: number; knownRows: number },
): Promise<string | null> {
  if (!isNotable(own, limits)) return null;
  const removed = await memory.removedOn(today());
  const losses: { deletions: number; knownRows: number }[] = [];
  for (const { collection, knownRows } of others()) {
    const gone = removed.get(collection) ?? 0;
    const listed = (await memory.withheld(collection)).size;
    const waiting = Math.max(listed, (await memory.missing(collection)).size);
    losses.push({ deletions: gone + waiting, knownRows: knownRows + gone });
  }
  return whyTogether(own, losses, limits);
}

/**
 * Adds to what waits for a person, or keeps it: to be called before the pass is committed. `keep`: keys that are about
 * to be removed, and that wait until they are.
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
 * What a commit has made true of the list: to be called after it. It lifts caution; a process that crashed before has
 * only been too careful.
 */
export async function reconcileList(
  parts: DeletionParts,
  withheld: Withheld | null,
  kept: readonly string[] = [],
): Promise<void> {
  if (withheld === null) return release(parts);
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
    emptyPassId: withheld.emptyPassId ?? null,
    isOfEmpty: withheld.emptyPassId !== undefined,
  });
}

/** Nothing of the collection waits any more. */
export async function release({
  collection,
  memory,
}: Pick<DeletionParts, 'collection' | 'memory'>): Promise<void> {
  await memory.setWithheld(collection, new Map());
  await memory.setNote(collection, null);
  await memory.setTripped(collection, false);
}

/** A person does not want the listed removals: they are forgotten, and the next full pass judges anew. */
export async function discardList(
  parts: Pick<DeletionParts, 'collection' | 'memory' | 'writer' | 'emit'>,
): Promise<void> {
  const { collection, memory, writer, emit } = parts;
  const rows = await countWithheld(memory, collection, writer.progress);
  // The note first: without the list, the log's word would count.
  await noteDecided(parts);
  await memory.setWithheld(collection, new Map());
  await memory.setTripped(collection, false);
  emit({ kind: 'discarded', collection, rows });
}

/** None of what the last complete full pass withheld waits any more, though the log says so until the next one. */
export async function noteDecided({
  collection,
  memory,
  writer,
}: Pick<DeletionParts, 'collection' | 'memory' | 'writer'>): Promise<void> {
  await memory.setNote(collection, {
    why: null,
    count: 0,
    settledPassId: writer.progress?.lastCompleteFull?.passId ?? null,
    emptyPassId: null,
    isOfEmpty: false,
  });
}

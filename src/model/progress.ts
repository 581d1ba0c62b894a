import type { CollectionName, TopicSuffix } from './collections.ts';

/** Last data offsets by `<topic>/<partition>`. */
export type Offsets = Readonly<Record<string, number>>;

export type SyncMode = 'FULL' | 'DELTA';

export interface LastCompleteFull {
  readonly passId: string;
  /** Hub time at the pass's start, ms since the epoch. */
  readonly startedAtMs: number;
  /** Who has read beyond these holds the collection as of `startedAtMs`. */
  readonly offsets: Offsets;
  readonly rows: number;
  readonly rowsRejected: number;
  readonly rowsWithheld: number;
}

/** How far a collection is: the value of its record in `progress`, in the same transaction as what it tells of. */
export interface Progress {
  readonly collection: CollectionName;
  /** 1, 2, …: number of the collection's last transaction. */
  readonly sequence: number;
  /** Random; tells this log's transaction from another log's of the same number. */
  readonly transactionId: string;
  readonly passId: string;
  readonly mode: SyncMode;
  readonly complete: boolean;
  /** Hub time at the pass's start, ms since the epoch. */
  readonly startedAtMs: number;
  readonly rowsSeen: number;
  readonly rowsPublished: number;
  readonly rowsRejected: number;
  readonly rowsRemoved: number;
  readonly rowsWithheld: number;
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
  /** Everything the hub changed before this hub time is committed; null before the first complete full pass. */
  readonly watermarkMs: number | null;
  /** Cumulative; includes this transaction's own data. */
  readonly offsets: Offsets;
  readonly lastCompleteFull: LastCompleteFull | null;
  /**
   * Id of the mapping (core/mapping-id.ts) that all rows at the hub were published under, {@link SEVERAL_MAPPINGS} where
   * it was more than one: a header of the record, none of its fields.
   */
  readonly mapping?: string | null | undefined;
  /**
   * Only of `absence-changes`: its first load is over, although `lastCompleteFull` was lost. A header, too: it can still
   * be read where the value cannot.
   */
  readonly firstLoad?: 'over' | undefined;
}

/** Whether all that there is was told at least once since the topic began: what is told from then on is news. */
export function isFirstLoadOver({ firstLoad, lastCompleteFull }: Progress): boolean {
  return firstLoad === 'over' || lastCompleteFull !== null;
}

/** The id of no mapping: a complete full pass has not published all rows again yet. */
export const SEVERAL_MAPPINGS = 'several';

/** The progress as committed: with the transaction's own data offsets, also where it completes a full pass. */
export function withOffsets(progress: Progress, offsets: Offsets): Progress {
  const full = progress.lastCompleteFull;
  const completesFull = progress.complete && full !== null && full.passId === progress.passId;
  return { ...progress, offsets, lastCompleteFull: completesFull ? { ...full, offsets } : full };
}

/** Whether a topic lost records between two of a collection's progress records: an index from before knows of them still. */
function recordsLoss(before: Progress, now: Progress): boolean {
  return Object.entries(before.offsets).some(([name, offset]) => (now.offsets[name] ?? -1) < offset);
}

/**
 * Whether an index from before the later of two progress records cannot be read on from: a topic lost records, or rows were
 * published under another mapping, and an index holds what the mapping in force made of them.
 */
export function outdatesIndex(before: Progress, now: Progress): boolean {
  return recordsLoss(before, now) || (before.mapping ?? null) !== (now.mapping ?? null);
}

/** Those of one collection's topic. */
export function offsetsOf(offsets: Offsets, collection: TopicSuffix): Offsets {
  return Object.fromEntries(Object.entries(offsets).filter(([name]) => isOf(name, collection)));
}

/** Those of all topics but some. */
export function offsetsWithout(offsets: Offsets, collections: readonly TopicSuffix[]): Offsets {
  return Object.fromEntries(
    Object.entries(offsets).filter(([name]) => !collections.some((each) => isOf(name, each))),
  );
}

/** `name` is `<prefix>.<tenant>.<collection>/<partition>`; neither tenants nor collections have dots. */
function isOf(name: string, collection: TopicSuffix): boolean {
  return name.slice(0, name.lastIndexOf('/')).endsWith(`.${collection}`);
}

/** All that a transaction's progress records tell together. */
export function allOffsets(progress: readonly (Pick<Progress, 'offsets'> | null)[]): Offsets {
  return Object.assign({}, ...progress.map((each) => each?.offsets ?? {})) as Offsets;
}

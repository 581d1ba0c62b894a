import { STATE_TOPIC, type CollectionName, type TopicSuffix } from './collections.ts';

/** Last data offsets by `<topic>/<partition>`. */
export type Offsets = Readonly<Record<string, number>>;

export type SyncMode = 'FULL' | 'INCREMENTAL';

/** The last full sync that read all scopes and was complete, and its own counts. */
export interface LastCompleteFull {
  /** Id of the full sync. */
  readonly syncId: string;
  /** Hub time at the sync's start, ms since the epoch. */
  readonly startedAtMs: number;
  /** A consumer that has read past these offsets has the collection as of `startedAtMs`. */
  readonly offsets: Offsets;
  /** Keys of the topic that the sync found at the hub. Together with `rowsNotFound` they are all that the topic has. */
  readonly rows: number;
  /** Keys that the sync did not find. They stay until their removal is confirmed. */
  readonly rowsNotFound: number;
  readonly rowsRejected: number;
  /** How many of `rowsRejected` have no readable id. */
  readonly rowsWithoutId: number;
  /** How many of the keys that it did not find wait for a person. */
  readonly rowsOnHold: number;
}

/** Who gave a command: the user and the host, and why. */
export interface Person {
  readonly by: string;
  readonly from: string;
  readonly reason: string | null;
}

/**
 * A person's decision about a collection, or the beginning or the end of a hold. A record of its own in `progress` keeps it for
 * good. It names no row.
 *
 * - `hold`: from now on, removals need a decision; `healed`: all rows that were missing then are back
 * - `approved`: the rows on the list that are still missing are removed
 * - `accepted`: rows that differ from the published rows are right (`pull --accept-new`)
 */
export interface DecisionRecord extends Partial<Person> {
  readonly kind: 'hold' | 'healed' | 'approved' | 'accepted';
  readonly collection: CollectionName;
  /** Local clock, ms since the epoch. */
  readonly atMs: number;
  /** Rows of the collection that are missing, or on the approved list. */
  readonly rows?: number;
  readonly removed?: number;
  readonly digest?: string;
  /** Why the collection is on hold, in numbers. */
  readonly why?: string | null;
}

/**
 * A full sync that brought fewer rows than the hub's total. `isCovered`: the rows that did not come are published, so
 * the sync is complete.
 */
interface ShortSync extends Readonly<Record<'rows' | 'total' | 'repeated', number>> {
  readonly isCovered: boolean;
}

/** What the log knows of a collection's missing rows. */
export interface DeletionState {
  /** The sync that settled the missing rows last, or the transaction with which rows that came back left the list. */
  readonly settledBy: string;
  /** `YYYY-MM-DD` in the zone of the daily full sync, and the unapproved removals of that day. */
  readonly day: string;
  readonly removed: number;
  /** When the hold began, local clock, ms since the epoch; null: the collection is not on hold. */
  readonly onHoldSinceMs: number | null;
  /** Why it is on hold, in numbers, as the last full sync found it; or that rows have come back since then. */
  readonly why: string | null;
  /** Set if fewer rows came than the hub counts. `rows` does not count repeated rows. Null or left out: enough rows came. */
  readonly short?: ShortSync | null | undefined;
  /**
   * Since when the collection's rows at the hub may be another tenant's, local clock, ms since the epoch; null or
   * left out: they are not.
   */
  readonly foreignSinceMs?: number | null;
}

/** A collection's progress: the value of its record in `progress`, committed in the same transaction as the data. */
export interface Progress {
  readonly collection: CollectionName;
  /** 1, 2, …: number of the collection's last transaction. */
  readonly sequence: number;
  /** Random; distinguishes this log's transaction from another log's transaction with the same number. */
  readonly transactionId: string;
  readonly syncId: string;
  readonly mode: SyncMode;
  readonly complete: boolean;
  /** Hub time at the sync's start, ms since the epoch. */
  readonly startedAtMs: number;
  readonly rowsSeen: number;
  readonly rowsPublished: number;
  readonly rowsRejected: number;
  readonly rowsRemoved: number;
  readonly rowsOnHold: number;
  readonly totalAtStart: number | null;
  readonly totalAtEnd: number | null;
  /** Everything that the hub changed before this hub time is committed; null before the first complete full sync. */
  readonly watermarkMs: number | null;
  /** Cumulative, including this transaction's own data. */
  readonly offsets: Offsets;
  readonly lastCompleteFull: LastCompleteFull | null;
  /**
   * The id of the topic's life, which begins with the first record that is published to the topic, and ends when the
   * topic loses records; null: nothing was published.
   */
  readonly lifeId: string | null;
  /**
   * Id of the mapping (core/rows/mapping-rules.ts) under which all rows were published, {@link SEVERAL_MAPPINGS} for more than
   * one. It is a header of the record, not a field.
   */
  readonly mapping?: string | null | undefined;
  /**
   * `over`: the first load is over, but `lastCompleteFull` was lost, because the topic of the collection, or `rejects`,
   * has lost records, and no full sync has brought all rows again. For `absence-changes`, it is set whenever the first
   * load is over in the present topic. It is a header of the record, readable even if the value is not.
   */
  readonly firstLoad?: 'over' | undefined;
  /**
   * Only for `absence-versions`: {@link STATE_COMPLETE} if `absence-state` holds the complete index of absences at this
   * transaction. The log writes this as a header of the record.
   */
  readonly absenceState?: string | undefined;
  /**
   * The registry's ids of the collection's schema. The first one is in use. The registry has lost the others, and
   * older records may still have them. The log writes them as a header of the record.
   */
  readonly schemaIds?: readonly number[] | undefined;
  /** Undefined before the first sync that settled missing rows. It is a header of the record. */
  readonly deletions?: DeletionState | undefined;
}

/** The value of {@link Progress.absenceState}. */
export const STATE_COMPLETE = 'complete';

/** Since when the rows at the hub may be another tenant's (`HUB_FOREIGN_DATA`), ms since the epoch; null: they are not. */
export function foreignSince(progress: Pick<Progress, 'deletions'> | null): number | null {
  return progress?.deletions?.foreignSinceMs ?? null;
}

/** Schema ids that the registry has lost. Nobody can read the records with these ids until those records are published again. */
export function lostSchemaIds(progress: Progress | null): readonly number[] {
  return progress?.schemaIds?.slice(1) ?? [];
}

/** Whether everything was published at least once since the topic began: later records are news. */
export function isFirstLoadOver({ firstLoad, lastCompleteFull }: Progress): boolean {
  return firstLoad === 'over' || lastCompleteFull !== null;
}

/** Stands for several mappings: no complete full sync has republished all rows yet. */
export const SEVERAL_MAPPINGS = 'several';

/**
 * Returns the progress with the offsets of its transaction, which may begin a life of the topic. If the transaction completes a
 * full sync, `lastCompleteFull` gets them too, without those of the changelog, which no consumer reads.
 */
export function withOffsets(progress: Progress, offsets: Offsets): Progress {
  const full = progress.lastCompleteFull;
  const completesFull = progress.complete && full !== null && full.syncId === progress.syncId;
  // When a loss is recorded, the offsets of the topic are removed.
  const isEmpty = Object.keys(offsetsOf(offsets, progress.collection)).length === 0;
  return {
    ...progress,
    offsets,
    lifeId: isEmpty ? null : (progress.lifeId ?? progress.transactionId),
    lastCompleteFull: completesFull ? { ...full, offsets: offsetsWithout(offsets, [STATE_TOPIC]) } : full,
  };
}

/**
 * Whether no offset in `before` is higher than the same offset in `now`. If a topic was recreated in between, its offsets
 * begin at 0 again, so that this is false.
 */
export function reach(now: Offsets, before: Offsets): boolean {
  return Object.entries(before).every(([name, offset]) => (now[name] ?? -1) >= offset);
}

/**
 * Whether an index from the time of `before` cannot be brought up to date with `now`, and must be rebuilt: a topic has
 * lost records in between, or rows were published under another mapping, which changes their content hashes. If a topic
 * loses its records a second time before new ones are published, its offsets do not show this. So if the topic has no
 * records, every earlier index must be rebuilt.
 */
export function outdatesIndex(before: Progress, now: Progress): boolean {
  if (now.lifeId === null) return true;
  return !reach(now.offsets, before.offsets) || (before.mapping ?? null) !== (now.mapping ?? null);
}

/** Returns the offsets of one collection's topic. */
export function offsetsOf(offsets: Offsets, collection: TopicSuffix): Offsets {
  return Object.fromEntries(Object.entries(offsets).filter(([name]) => isOf(name, collection)));
}

/** Returns the offsets of all topics but some. */
export function offsetsWithout(offsets: Offsets, collections: readonly TopicSuffix[]): Offsets {
  return Object.fromEntries(
    Object.entries(offsets).filter(([name]) => !collections.some((each) => isOf(name, each))),
  );
}

/** `name` is `<prefix>.<tenant>.<collection>/<partition>`; neither tenants nor collections have dots. */
function isOf(name: string, collection: TopicSuffix): boolean {
  return name.slice(0, name.lastIndexOf('/')).endsWith(`.${collection}`);
}

/** Merges the offsets of a transaction's progress records. */
export function allOffsets(progress: readonly (Pick<Progress, 'offsets'> | null)[]): Offsets {
  return Object.assign({}, ...progress.map((each) => each?.offsets ?? {})) as Offsets;
}

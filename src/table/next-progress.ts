import {
  CHAIN_COLLECTIONS,
  STATE_TOPIC,
  type ChainCollection,
  type CollectionName,
} from '../model/collections.ts';
import {
  isFirstLoadOver,
  offsetsOf,
  offsetsWithout,
  SEVERAL_MAPPINGS,
  type LastCompleteFull,
  type Offsets,
  type Progress,
} from '../model/progress.ts';
import type { DerivedTally } from '../core/sync-stats.ts';
import type { SyncStats } from '../core/sync-stats.ts';

/** The result of an ended sync. */
export interface SyncCompletion {
  readonly watermarkMs: number;
  readonly lastCompleteFull: Omit<LastCompleteFull, 'offsets'> | null;
}

export type Completion = SyncCompletion | 'incomplete';

/** What the last full sync that settled missing rows has left. */
export type Settled = Pick<Progress, 'deletions' | 'rowsWithheld'>;

/** Number of keys of each derived collection. */
export type DerivedRows = Readonly<Record<ChainCollection, number>>;

/** The progress of a collection in the next transaction; the commit adds the transaction's own offsets. */
export function nextProgress(options: {
  collection: CollectionName;
  before: Progress | null;
  offsetsAtStart: Offsets;
  sequence: number;
  transactionId: string;
  /** Id of the mapping in force. */
  mapping: string | null;
  /** See {@link Progress.absenceState}. */
  absenceState: string | undefined;
  stats: SyncStats;
  completion: Completion | null;
  settled: Settled;
}): Progress {
  const { before, completion, stats } = options;
  const done = completion === null || completion === 'incomplete' ? null : completion;
  // Other collections' rejects belong to their own progress.
  const own = offsetsWithout(options.offsetsAtStart, [...CHAIN_COLLECTIONS, STATE_TOPIC, 'rejects']);
  const offsets = { ...own, ...before?.offsets };
  const isOfOne =
    before === null || done?.lastCompleteFull != null || (before.mapping ?? null) === options.mapping;
  return {
    collection: options.collection,
    sequence: options.sequence,
    transactionId: options.transactionId,
    syncId: stats.syncId,
    mode: stats.mode,
    complete: done !== null,
    startedAtMs: stats.startedAtMs,
    rowsSeen: stats.rowsSeen,
    rowsPublished: stats.rowsCreated + stats.rowsUpdated,
    rowsRejected: stats.rowsRejected,
    rowsRemoved: stats.rowsRemoved,
    totalAtStart: stats.totalAtStart,
    totalAtEnd: stats.totalAtEnd,
    // The watermark may go back: a hub's clock that ran ahead and was corrected would otherwise hide changes.
    watermarkMs: done === null ? (before?.watermarkMs ?? null) : done.watermarkMs,
    offsets,
    lastCompleteFull:
      done?.lastCompleteFull == null
        ? (before?.lastCompleteFull ?? null)
        : { ...done.lastCompleteFull, offsets },
    mapping: isOfOne ? options.mapping : SEVERAL_MAPPINGS,
    absenceState: options.absenceState,
    schemaIds: before?.schemaIds,
    ...options.settled,
  };
}

/** Rejects and withheld removals belong to the source collection. */
const NO_ROWS_OF_ITS_OWN = { rowsRejected: 0, rowsWithheld: 0 } as const;

/** The progress of the derived collections in the same transaction. */
export function derivedProgress(options: {
  next: Progress;
  before: ReadonlyMap<ChainCollection, Progress | null>;
  offsetsAtStart: Offsets;
  tally: Readonly<DerivedTally>;
  /** The first load of `absence-changes` was over before the transaction. */
  isFirstLoadOver: boolean;
  /** Number of keys of each after the transaction. */
  rows: DerivedRows;
}): readonly Progress[] {
  const { next, before, tally, rows } = options;
  const published: Record<ChainCollection, number> = {
    'absence-changes': tally.created + tally.replaced + tally.deleted + tally.restored,
    absences: tally.shown,
  };
  const removed: Record<ChainCollection, number> = {
    'absence-changes': tally.forgotten,
    absences: tally.hidden,
  };
  const isComplete = next.complete && next.lastCompleteFull?.syncId === next.syncId;
  return [...before].map(([collection, last]): Progress => {
    const offsets = { ...offsetsOf(options.offsetsAtStart, collection), ...last?.offsets };
    const lastCompleteFull =
      isComplete && next.lastCompleteFull !== null
        ? { ...next.lastCompleteFull, ...NO_ROWS_OF_ITS_OWN, rows: rows[collection], offsets }
        : (last?.lastCompleteFull ?? null);
    return Object.assign({}, next, {
      collection,
      rowsPublished: published[collection],
      rowsRemoved: removed[collection],
      ...NO_ROWS_OF_ITS_OWN,
      offsets,
      lastCompleteFull,
      absenceState: undefined,
      schemaIds: last?.schemaIds,
      deletions: undefined,
      firstLoad: options.isFirstLoadOver && collection === 'absence-changes' ? 'over' : undefined,
    });
  });
}

/** Whether a transaction is the last of the first load of `absence-changes`, or a later one. */
export function endsFirstLoad(derived: readonly Progress[]): boolean {
  return derived.some((each) => each.collection === 'absence-changes' && isFirstLoadOver(each));
}

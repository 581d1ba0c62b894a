import type { ChainCollection } from '../model/collections.ts';
import type { Offsets, Progress } from '../model/progress.ts';

/** Where the log and the index stand when the writer begins. */
export interface WriterStart {
  readonly progress: Progress | null;
  /** Of the collections derived from this one: null where none was ever committed. */
  readonly derived?: ReadonlyMap<ChainCollection, Progress | null> | undefined;
  /** The transaction that the index reflects. */
  readonly indexed: string;
  /** Whether `absence-changes` was told whole since its topic began. */
  readonly isFirstLoadOver?: boolean | undefined;
  /** Numbers of transactions that the log tells of, though its progress was lost; those to come are greater. */
  readonly lastSequence?: number | undefined;
  /** Last data offsets so far; the progress has them too, unless it was lost. */
  readonly offsets: Offsets;
  /** First offsets of partitions that do not begin at 0. */
  readonly firstOffsets?: Offsets | undefined;
  readonly knownRows: number;
  readonly knownRejects: number;
}

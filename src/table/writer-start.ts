import type { RollcallError } from '../errors.ts';
import type { ChainCollection } from '../model/collections.ts';
import type { Offsets, Progress } from '../model/progress.ts';

/** The state of log and index at the start of the writer. */
export interface WriterStart {
  readonly progress: Progress | null;
  /** The progress of derived collections; null when none is committed. */
  readonly derived?: ReadonlyMap<ChainCollection, Progress | null> | undefined;
  /** The transaction that the index reflects. */
  readonly indexed: string;
  /** Whether `absence-state` holds the complete index of absences. */
  readonly isChangelogComplete?: boolean | undefined;
  /** Whether the first load of `absence-changes` is over in its present topic. */
  readonly isFirstLoadOver?: boolean | undefined;
  /** Why the collection needs a decision before it can go on; its index is not at the end of the log then. */
  readonly lost?: RollcallError | undefined;
  /** Last data offsets, which the progress also has unless it was lost. */
  readonly offsets: Offsets;
  /** First offsets of partitions that do not begin at 0. */
  readonly firstOffsets?: Offsets | undefined;
  readonly knownRows: number;
  readonly knownRejects: number;
}

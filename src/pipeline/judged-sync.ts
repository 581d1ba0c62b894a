import type { Completeness } from '../core/completeness.ts';
import type { KeyedRow } from '../core/row-changes.ts';

export interface DeletionResult {
  readonly withheld: number;
  /** A second complete sync must confirm candidates. */
  readonly wantsSecondSync: boolean;
  /** There are so many candidates that the other collections' losses must be known before the second sync. */
  readonly isMany?: boolean | undefined;
  /** Number of approved keys that are removed now; null when the sync was inconclusive, or there was no approval. */
  readonly approvedGone: number | null;
  /**
   * Call this once the removals are committed. Caution is stored before the commit and lifted only afterwards: a process
   * that crashes or is fenced in between is at worst too careful.
   */
  readonly remember: () => Promise<void>;
}

export interface JudgedSync {
  readonly completeness: Completeness;
  readonly knownRowsBefore: number;
  /** Values that had content and are empty now: they are published or withheld like removals. */
  readonly becameEmpty: readonly KeyedRow[];
  /** Listed removals that a person has approved: they are published if still missing, regardless of the guard. */
  readonly approved?: ReadonlySet<string> | undefined;
}

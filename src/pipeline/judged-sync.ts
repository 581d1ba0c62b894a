import type { Completeness } from '../core/completeness.ts';
import type { KeyedRow } from '../core/page-decision.ts';

export interface DeletionResult {
  readonly withheld: number;
  /** Candidates wait for another complete pass to miss them too. */
  readonly wantsSecondSync: boolean;
  /** So many that the others are to be looked at before that second pass. */
  readonly isMany?: boolean | undefined;
  /** Keys of the approval that are gone from the topics now; null where the pass proved nothing, or none was given. */
  readonly approvedGone: number | null;
  /** The hub says that it has no rows: `listed` for a person, or `approved` by one, so that none are left. */
  readonly empty?: 'listed' | 'approved' | undefined;
  /**
   * To be called once the removals are committed. What adds caution is remembered before, what lifts it only then: a
   * process that crashed or was fenced in between has at worst been too careful.
   */
  readonly remember: () => Promise<void>;
}

export interface JudgedSync {
  readonly completeness: Completeness;
  readonly knownRowsBefore: number;
  /** Values that held something and hold nothing now: they go out, or are withheld, like removals. */
  readonly becameEmpty: readonly KeyedRow[];
  /** Listed removals that a person has approved: they go out if they are still gone, whatever the guard says. */
  readonly approved?: ReadonlySet<string> | undefined;
}

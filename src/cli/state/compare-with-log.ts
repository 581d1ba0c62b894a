import type { IndexRecoveryPlan, IndexedPoint } from '../../core/index-recovery.ts';
import type { Progress } from '../../model/progress.ts';
import { countOf } from '../../core/words.ts';

/** An index compared with its log. */
export interface IndexAgainstLog {
  readonly kind: 'equal' | 'behind' | 'rebuild' | 'empty' | 'unknown';
  /** The comparison in words. */
  readonly text: string;
}

/** What the next take-over of the tenant will do with the index. */
export function indexAgainstLog(options: {
  progress: Progress | null;
  position: IndexedPoint | null;
  plan: IndexRecoveryPlan;
  /** False when the log could not be read. */
  isLogKnown: boolean;
}): IndexAgainstLog {
  const { progress, position, plan, isLogKnown } = options;
  if (!isLogKnown) return { kind: 'unknown', text: 'unknown' };
  // Before the first transaction the index cannot be behind; a new owner has then given it an id of its own.
  if (progress === null && (position === null || position.sequence === 0)) {
    return { kind: 'empty', text: 'nothing yet' };
  }
  switch (plan.kind) {
    case 'current':
      return { kind: 'equal', text: 'equal' };
    case 'resume': {
      const behind = (progress?.sequence ?? 0) - (position?.sequence ?? 0);
      return { kind: 'behind', text: `${countOf(behind, 'transaction')} behind` };
    }
    case 'rebuild':
      return { kind: 'rebuild', text: `to be rebuilt: ${plan.why}` };
  }
}

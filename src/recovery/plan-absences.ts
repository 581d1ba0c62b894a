import { RollcallError } from '../errors.ts';
import type { ChainCollection } from '../model/collections.ts';
import { STATE_COMPLETE, type Progress } from '../model/progress.ts';
import type { IndexPosition } from '../state/index-store.ts';

/**
 * Where the index of absences comes from:
 * - `nothing`: nothing was ever published, or a person begins anew
 * - `changelog`: a copy of `absence-state`
 * - `index`: it is at the end of the log, and fills the lost changelog
 * - `lost`: neither of them is left, or what was published is lost: a person decides
 */
export type AbsenceSource = 'nothing' | 'changelog' | 'index' | 'lost';

export interface AbsenceFacts {
  readonly progress: Progress | null;
  readonly derived: ReadonlyMap<ChainCollection, Progress | null>;
  readonly position: IndexPosition | null;
  /** Whether `absences` or `absence-changes` lost records. */
  readonly hasLostTopics: boolean;
  /** Whether all topics of absences, that of their versions among them, lost records. */
  readonly hasLostAll: boolean;
  /** Whether `absence-state` lost records. */
  readonly hasLostChangelog: boolean;
  /** Whether records were ever written to `absence-changes` and `absence-state`, as far as their offsets show. */
  readonly hasEvents: boolean;
  readonly hasChangelog: boolean;
}

/** One way back: the state is copied, never derived from the public topics. */
export function absenceSource(facts: AbsenceFacts): AbsenceSource {
  const { progress, derived, position } = facts;
  // They were deleted together, as `topics recreate` does: nothing is left that could be continued, or nulled.
  if (facts.hasLostAll && !facts.hasEvents && !facts.hasChangelog) return 'nothing';
  if (facts.hasLostTopics) return 'lost';
  if (progress === null) {
    // Without `progress` nothing shows how complete the changelog is; it is written with the events.
    if (!facts.hasEvents) return 'nothing';
    return facts.hasChangelog ? 'changelog' : 'lost';
  }
  if ([...derived.values()].every((each) => each === null)) return 'nothing';
  if (!facts.hasLostChangelog && progress.absenceState === STATE_COMPLETE) return 'changelog';
  return position?.transactionId === progress.transactionId ? 'index' : 'lost';
}

export function absencesLost(tenantId: string): RollcallError {
  return new RollcallError(
    'ABSENCES_LOST',
    `What was published of the absences of ${tenantId}, or the state that continues it, is lost: absence-versions, absences and absence-changes need a decision`,
    {
      remedy: `If absences, absence-changes or absence-state were deleted by mistake and a copy exists, bring it back. Otherwise begin anew, with new absence ids: rollcall state rebuild --tenant ${tenantId} --collection absences --anew --yes`,
    },
  );
}

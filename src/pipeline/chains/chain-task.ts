import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { ResolveMode } from '../../core/chains/chain-rules.ts';
import type { IndexChange } from '../../state/index-store.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { LookUp } from './chain-lookup.ts';

/** What became of versions since their chains were last published, and all that publishing them takes. */
export interface ChainTask {
  readonly mode: ResolveMode;
  /** Versions that were created or updated. */
  readonly versions: readonly AbsenceVersionValue[];
  /** Versions that have left the hub for good. */
  readonly vanished: readonly string[];
  /** Versions whose chain was left open earlier. */
  readonly revisit: readonly string[];
  /** Of the transaction that will carry what follows. */
  readonly sequence: number;
  readonly transactionId: string;
  /** Position among the transaction's records of the first one to come. */
  readonly firstRecord: number;
  readonly snapshot: boolean;
  /** Whether a current absence is shown again although its record is as it was. */
  readonly republishes?: ((absenceId: string) => boolean) | undefined;
  /**
   * An absence that was deleted before then (ms since the epoch) and is unpublished counts as forgotten; null where everything is published. For versions that
   * are published again.
   */
  readonly forgottenBeforeMs: number | null;
  /** So many single versions may be asked for at the hub. */
  readonly askAtMost: number;
  /** As of `ResolveInput`. */
  readonly awaitsStudents: boolean;
  /** Whether a chain may be published without an answer that the hub failed to give. */
  readonly publishesUnanswered: boolean;
  /** Ids that the sync has proven to be gone; null where it has proven nothing. */
  readonly isGone: ((versionId: string) => boolean) | null;
  /** Of the index as of the transaction before. */
  readonly lookUp: LookUp;
  /** Content hash of a version's record, as of this transaction; null for none. */
  readonly hashesOf: (versionIds: readonly string[]) => Promise<ReadonlyMap<string, Buffer | null>>;
  /** Asks the hub for single versions; what it has becomes part of this transaction. */
  readonly fetch: (versionIds: readonly string[]) => Promise<FetchedVersions>;
}

export interface FetchedVersions {
  readonly versions: readonly AbsenceVersionValue[];
  readonly gone: readonly string[];
  /** The hub could not be asked: it may be tomorrow. */
  readonly isFailed: boolean;
}

/** How many of each were published. */
export interface ChainTally {
  created: number;
  replaced: number;
  deleted: number;
  restored: number;
  /** Keys of `absence-changes` nulled. */
  forgotten: number;
  /** Records in `absences`, and nulls in it. */
  shown: number;
  hidden: number;
}

/** What the transaction is to hold of it, beside the versions. */
export interface ChainOutcome {
  readonly records: readonly OutgoingRecord[];
  readonly changes: readonly IndexChange[];
  readonly tally: ChainTally;
  /** Chains published while open, because the hub gave no answer. */
  readonly publishedOpen: number;
  /** How many entries on contradictions the index has with these changes; null where nothing was looked at. */
  readonly contradictions: number | null;
  /** Students of the absences that were changed. */
  readonly students: ReadonlySet<string>;
}

export function noTally(): ChainTally {
  return { created: 0, replaced: 0, deleted: 0, restored: 0, forgotten: 0, shown: 0, hidden: 0 };
}

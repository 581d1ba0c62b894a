import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { ResolveMode } from '../../core/chains/chain-rules.ts';
import type { IndexChange } from '../../state/index-store.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import type { LookUp } from './chain-lookup.ts';

/** The versions that changed since their chains were last published. */
export interface ChangedVersions {
  /** Created or updated versions. */
  readonly versions: readonly AbsenceVersionValue[];
  /** Versions that left the hub; their removal is confirmed. */
  readonly vanished: readonly string[];
  /** Versions whose chains are pending. */
  readonly revisit: readonly string[];
}

/** Where the next derived record stands, which gives it its id. */
export interface RecordPlace {
  readonly transactionId: string;
  /** Index of the record in the transaction. */
  readonly firstRecord: number;
}

/** What else is known of versions. */
export interface VersionLookups {
  /** Reads the index as of the previous transaction. */
  readonly lookUp: LookUp;
  /** Content hashes of versions' records, with the changes of this transaction; null for none. */
  readonly hashesOf: (versionIds: readonly string[]) => Promise<ReadonlyMap<string, Buffer | null>>;
  /** Asks the hub for single versions; those that it has join this transaction. */
  readonly fetch: (versionIds: readonly string[]) => Promise<FetchedVersions>;
}

/** Changed versions, and the limits within which their chains are resolved and published. */
export interface ChainTask {
  readonly mode: ResolveMode;
  readonly changed: ChangedVersions;
  /** Avro bodies of `absence-versions` that the transaction already holds, by their records. */
  readonly bodies: ReadonlyMap<object, Buffer>;
  readonly place: RecordPlace;
  readonly lookups: VersionLookups;
  /** Sequence number of the transaction that will carry the derived records. */
  readonly sequence: number;
  readonly snapshot: boolean;
  /** Whether a current absence is published again although its record is unchanged. */
  readonly republishes?: ((absenceId: string) => boolean) | undefined;
  /**
   * An unpublished absence that was deleted before this time (ms since the epoch) counts as forgotten. Set while a lost
   * `absence-versions` is filled again; otherwise null.
   */
  readonly forgottenBeforeMs: number | null;
  /** At most so many single versions may be asked for at the hub. */
  readonly askAtMost: number;
  /** See `ResolveInput`. */
  readonly awaitsStudents: boolean;
  /** Whether chains are published although the hub failed to answer for a version that they refer to. */
  readonly publishesUnanswered: boolean;
  /** Whether a full sync has shown that the hub does not have an id; null if it has shown nothing. */
  readonly isGone: ((versionId: string) => boolean) | null;
}

export interface FetchedVersions {
  readonly versions: readonly AbsenceVersionValue[];
  readonly gone: readonly string[];
  /** The hub did not answer. It may answer later. */
  readonly isFailed: boolean;
}

/** How many records of each kind were published. */
export interface ChainTally {
  created: number;
  replaced: number;
  deleted: number;
  restored: number;
  /** Nulled keys of `absence-changes`. */
  forgotten: number;
  /** Records published to `absences`; `hidden`: nulls published to it. */
  shown: number;
  hidden: number;
}

/** What a resolution adds to the transaction of the versions. */
export interface ChainOutcome {
  readonly records: readonly OutgoingRecord[];
  readonly changes: readonly IndexChange[];
  readonly tally: ChainTally;
  /** Chains published while open, because the hub gave no answer. */
  readonly publishedOpen: number;
  /** Number of contradictions in the index after these changes; null if it was not determined. */
  readonly contradictions: number | null;
  /** Students of the changed absences. */
  readonly students: ReadonlySet<string>;
}

export function noTally(): ChainTally {
  return { created: 0, replaced: 0, deleted: 0, restored: 0, forgotten: 0, shown: 0, hidden: 0 };
}

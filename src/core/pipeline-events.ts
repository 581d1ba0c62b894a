import type { RollcallError } from '../errors.ts';
import type { Shortfall } from './deletions/evidence.ts';
import type { HubEvent } from './hub-events.ts';
import type { CollectionName } from '../model/collections.ts';
import type { PageTally } from './rows/compare-with-published.ts';
import type { DecisionRecord, SyncMode, Progress } from '../model/progress.ts';
import type { DerivedTally, SyncStats } from './sync-stats.ts';

/** The events of the pipeline, for logs, metrics, health and progress lines. They hold no content of rows. */
export type PipelineEvent =
  | { readonly type: 'owned'; readonly owner: string }
  /** The tenant is taken over and recovered: syncs begin. */
  | { readonly type: 'session-opened' }
  /** The session has ended, and with it the syncs that ran. */
  | { readonly type: 'session-failed'; readonly error: unknown; readonly retryInMs: number }
  /** The tenant needs a person. */
  | { readonly type: 'tenant-failed'; readonly error: RollcallError; readonly retryInMs: number }
  /**
   * The running process has compared its topics with the configuration. It goes on writing as before. `mismatch` is
   * also set for a missing right.
   */
  | { readonly type: 'topics-compared'; readonly mismatch: RollcallError | null }
  | ({
      readonly type: 'caught-up';
      readonly how: 'current' | 'resumed' | 'rebuilt';
      readonly why: string;
      /** Number of contradictory absences in the index; null except for `absence-versions` with absences mirrored. */
      readonly contradictions: number | null;
    } & Standing)
  /** A full sync is due, and waits for the full syncs of other tenants. When this sync or a requested sync begins, `sync-started` follows. */
  | { readonly type: 'full-sync-waits'; readonly collection: CollectionName }
  | { readonly type: 'sync-started'; readonly collection: CollectionName; readonly mode: SyncMode }
  | {
      readonly type: 'sync-page';
      readonly collection: CollectionName;
      readonly stats: Readonly<SyncStats>;
      readonly tally: Readonly<PageTally>;
      /** Rows in the topic by now. */
      readonly rows: number;
    }
  | ({
      readonly type: 'sync-ended';
      /** The mode in which the sync began. The statistics call a full sync of some scopes incremental. */
      readonly mode: SyncMode;
      readonly outcome: 'complete' | 'inconclusive' | 'becomes-full';
      readonly why: string | null;
      /** A full sync brought fewer rows than the hub's total. */
      readonly short: Shortfall | null;
      /** The settings that match nothing at the hub (rows/unmet-settings.ts); left out: not known. */
      readonly unmet?: readonly string[] | undefined;
      readonly stats: Readonly<SyncStats>;
      readonly durationMs: number;
    } & Standing)
  | {
      readonly type: 'sync-failed';
      readonly collection: CollectionName;
      readonly mode: SyncMode;
      readonly error: unknown;
      readonly durationMs: number;
      readonly retryInMs: number | null;
      /** What the sync had committed before it failed; left out if it had committed nothing. */
      readonly progress?: Progress | null;
    }
  | {
      readonly type: 'not-offered';
      readonly collection: CollectionName;
      readonly error: unknown;
      readonly mode: SyncMode;
      readonly durationMs: number;
      readonly isNews: boolean;
    }
  | {
      readonly type: 'committed';
      readonly collection: CollectionName;
      readonly records: number;
      readonly durationMs: number;
    }
  /** A request to Kafka had to wait this long because of a quota. */
  | { readonly type: 'throttled'; readonly ms: number }
  | { readonly type: 'commit-failed'; readonly collection: CollectionName }
  /** The events of absences in a committed transaction. */
  | {
      readonly type: 'absences-published';
      readonly tally: Readonly<DerivedTally>;
      /** Absences published although the hub did not answer for ids that they await. */
      readonly publishedOpen: number;
      /** Number of contradictory absences now; null if it is unchanged. */
      readonly contradictions: number | null;
    }
  | { readonly type: 'deletion'; readonly event: DeletionEvent }
  | { readonly type: 'hub'; readonly event: HubEvent };

/** The state of a collection after its last commit. */
interface Standing {
  readonly collection: CollectionName;
  readonly rows: number;
  readonly rejects: number;
  readonly progress: Progress | null;
  /** Progress of the collections derived from this one. */
  readonly derived?: readonly Progress[] | undefined;
}

export type DeletionEvent =
  | DecisionRecord
  /** Rows are missing, and the collection is not on hold. The rows are removed if another full sync misses them, too. */
  | {
      readonly kind: 'missing';
      readonly collection: CollectionName;
      readonly rows: number;
      readonly confirmAt: string | null;
    };

/** Must neither throw nor block. */
export type Emit = (event: PipelineEvent) => void;

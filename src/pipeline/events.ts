import type { HubEvent } from '../hub/events.ts';
import type { CollectionName } from '../model/collections.ts';
import type { PageTally } from '../core/page-decision.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import type { ChainTally } from './chains/chain-task.ts';
import type { DeletionEvent } from './withholding.ts';
import type { SyncStats } from './sync-stats.ts';

/** What happens in the pipeline, for logs, metrics, health and progress lines. Holds no content of rows. */
export type PipelineEvent =
  | { readonly type: 'owned'; readonly owner: string }
  /** Owned and caught up: passes begin. */
  | { readonly type: 'session-opened' }
  | { readonly type: 'session-failed'; readonly error: unknown; readonly retryInMs: number }
  | {
      readonly type: 'caught-up';
      readonly collection: CollectionName;
      readonly how: 'current' | 'resumed' | 'rebuilt';
      readonly why: string;
      readonly rows: number;
      readonly rejects: number;
      readonly progress: Progress | null;
      /** Entries of the index on contradictory absences; null but for `absence-versions` with absences mirrored. */
      readonly contradictions: number | null;
    }
  | { readonly type: 'pass-started'; readonly collection: CollectionName; readonly mode: SyncMode }
  | {
      readonly type: 'pass-page';
      readonly collection: CollectionName;
      readonly stats: Readonly<SyncStats>;
      readonly tally: Readonly<PageTally>;
    }
  | {
      readonly type: 'pass-ended';
      readonly collection: CollectionName;
      readonly outcome: 'complete' | 'suspect' | 'wholesale';
      readonly why: string | null;
      readonly stats: Readonly<SyncStats>;
      readonly durationMs: number;
      readonly rows: number;
      readonly rejects: number;
      readonly progress: Progress | null;
    }
  | {
      readonly type: 'pass-failed';
      readonly collection: CollectionName;
      readonly mode: SyncMode;
      readonly error: unknown;
      readonly durationMs: number;
      readonly retryInMs: number | null;
    }
  | {
      readonly type: 'not-offered';
      readonly collection: CollectionName;
      readonly error: unknown;
      readonly mode: SyncMode;
      readonly durationMs: number;
      readonly isNews: boolean;
    }
  /** Broken off from outside: the process is ending, or the tenant is owned anew. */
  | {
      readonly type: 'pass-stopped';
      readonly collection: CollectionName;
      readonly mode: SyncMode;
      readonly durationMs: number;
    }
  | {
      readonly type: 'committed';
      readonly collection: CollectionName;
      readonly records: number;
      readonly durationMs: number;
    }
  | { readonly type: 'commit-failed'; readonly collection: CollectionName; readonly durationMs: number }
  /** What a committed transaction told of absences. */
  | {
      readonly type: 'chains-told';
      readonly tally: Readonly<ChainTally>;
      /** Chains told by the best that is known, because the hub did not say more. */
      readonly toldOpen: number;
      /** Entries of the index on contradictory absences, as of now; null where nothing was looked at. */
      readonly contradictions: number | null;
    }
  /** A person had what the configuration no longer wants removed: a collection, or one afterschool's rows. */
  | {
      readonly type: 'purged';
      readonly collection: CollectionName;
      readonly afterschool: string | null;
      readonly rows: number;
      readonly rejects: number;
    }
  | { readonly type: 'deletion'; readonly event: DeletionEvent }
  | { readonly type: 'hub'; readonly event: HubEvent };

/** Must not throw and must not wait. */
export type Emit = (event: PipelineEvent) => void;

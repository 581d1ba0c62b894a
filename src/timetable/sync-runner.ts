import type { SyncOptions } from '../sync/sync-result.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import type { SyncResult } from '../sync/sync-result.ts';

/** Keeps one collection up to date. */
export interface SyncRunner {
  readonly collection: CollectionName;
  /** The hub does not have this collection. */
  readonly isNotOffered: boolean;
  /** Whether its requests need another collection's rows. */
  readonly hasParents: boolean;
  /** The last committed progress. */
  readonly progress: Progress | null;
  /** Runs a sync as soon as possible. Rejects with the error of the sync, or of the session. */
  request(mode: SyncMode, options?: SyncOptions): Promise<SyncResult>;
  /** Runs syncs when they are due, until the signal aborts, or until a failure that concerns the tenant. */
  loop(signal: AbortSignal): Promise<void>;
  /** Runs one sync, without the loop. */
  once(mode: SyncMode, options: SyncOptions & { readonly signal: AbortSignal }): Promise<SyncResult>;
}

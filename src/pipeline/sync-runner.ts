import type { CollectionName } from '../model/collections.ts';
import type { Approval, SyncMode, Progress } from '../model/progress.ts';
import type { SyncResult } from './sync-result.ts';
import type { Republication } from './republication.ts';

/** A person's approval, with the keys of one collection. */
export interface Approved {
  readonly keys: ReadonlySet<string>;
  readonly given: Omit<Approval, 'removed'>;
}

/** Options of a requested sync. */
export interface SyncOptions {
  /** A person has confirmed that rows unlike the published ones are right. */
  readonly acceptNew?: boolean | undefined;
  /** For a full sync: what a person has approved, at most 100,000 keys. They are removed if the sync misses them too. */
  readonly approved?: Approved | undefined;
  /** The full sync confirms what the one before missed: it reads only the scopes of missing rows, and asks for none itself. */
  readonly confirming?: boolean | undefined;
  /** Rows to republish even if unchanged. */
  readonly republication?: Republication | undefined;
}

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

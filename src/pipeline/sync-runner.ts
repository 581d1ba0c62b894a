import type { CollectionName } from '../model/collections.ts';
import type { SyncMode, Progress } from '../model/progress.ts';
import type { SyncResult } from './sync-result.ts';
import type { Republication } from './republication.ts';

/** How a pass that was asked for differs from one that is due. */
export interface SyncOptions {
  /** A person said that quite other rows than before are right. */
  readonly acceptNew?: boolean | undefined;
  /**
   * Listed removals that a person has approved, by key, at most 100,000: of a full pass. They go out if the pass does
   * not meet them, whatever the guard says; nothing else is let out by it.
   */
  readonly approved?: ReadonlySet<string> | undefined;
  /** What is published again although it has not changed. */
  readonly republication?: Republication | undefined;
}

/** Keeps one collection up to date. */
export interface SyncRunner {
  readonly collection: CollectionName;
  /** The hub does not have this collection. */
  readonly isNotOffered: boolean;
  /** Whether what is asked for comes from another collection's rows. */
  readonly hasParents: boolean;
  /** As last committed. */
  readonly progress: Progress | null;
  /** A pass as soon as may be. Rejects with what the pass, or the whole session, fails with. */
  request(mode: SyncMode, options?: SyncOptions): Promise<SyncResult>;
  /** Until the signal aborts, or something fails that concerns the whole tenant. */
  loop(signal: AbortSignal): Promise<void>;
  /** One pass, without staying. */
  once(mode: SyncMode, options: SyncOptions & { readonly signal: AbortSignal }): Promise<SyncResult>;
  /** Removals that wait for a person wait no more, and are not made: the next full pass judges anew. */
  discardWithheld(): Promise<void>;
}

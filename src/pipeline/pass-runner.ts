import type { CollectionName } from '../model/collections.ts';
import type { PassMode } from '../model/progress.ts';
import type { PassResult } from './pass.ts';

/** How a pass that was asked for differs from one that is due. */
export interface PassOptions {
  /** A person said that quite other rows than before are right. */
  readonly acceptNew?: boolean | undefined;
}

/** Keeps one collection up to date. */
export interface PassRunner {
  readonly collection: CollectionName;
  /** The hub does not have this collection. */
  readonly isNotOffered: boolean;
  /** Whether what is asked for comes from another collection's rows. */
  readonly hasParents: boolean;
  /** A pass as soon as may be. Rejects with what the pass, or the whole session, fails with. */
  demand(mode: PassMode, options?: PassOptions): Promise<PassResult>;
  /** Until the signal aborts, or something fails that concerns the whole tenant. */
  loop(signal: AbortSignal): Promise<void>;
  /** One pass, without staying. */
  once(mode: PassMode, options: PassOptions & { readonly signal: AbortSignal }): Promise<PassResult>;
}

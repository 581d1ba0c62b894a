import type { CollectionProbe } from '../../hub/probe-hub.ts';
import type { Collection } from '../../model/collections.ts';

/** What came of asking for a collection: a probe, an error, or why it was not asked. */
export interface Probed {
  readonly collection: Collection;
  readonly probe?: CollectionProbe | undefined;
  readonly error?: unknown;
  readonly skipped?: string | undefined;
}

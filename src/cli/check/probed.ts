import type { CollectionProbe } from '../../hub/probe-hub.ts';
import type { Collection } from '../../model/collections.ts';

/** The result of probing a collection: a probe, an error, or the reason why it was skipped. */
export interface Probed {
  readonly collection: Collection;
  readonly probe?: CollectionProbe | undefined;
  readonly error?: unknown;
  readonly skipped?: string | undefined;
}

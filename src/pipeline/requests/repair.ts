import { z } from 'zod';
import { COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import type { SyncOptions } from '../sync-runner.ts';
import { notMirrored, readParameters, type OwnerRequestKind } from './owner-request.ts';
import { PULL, type PullOutcome } from './pull.ts';
import { rebuildIndex } from './rebuild-index.ts';

/** More are left for another repair. */
export const MAX_CORRUPT_KEYS = 50_000;

const keys = z.array(z.string()).max(MAX_CORRUPT_KEYS);

const parameters = z.strictObject({
  /** Those with passes of their own. */
  collections: z
    .array(
      z.strictObject({
        name: z.enum(COLLECTIONS),
        /** Keys whose records cannot be read, or are not what their hash says: rows, rejects, and absences. */
        rows: keys,
        rejects: keys,
        absences: keys,
      }),
    )
    .min(1),
});

export type RepairParameters = z.output<typeof parameters>;

/**
 * `rollcall verify --repair`: the index is made again from the topics, what cannot be read is forgotten, and a full pass
 * publishes what is missing, and removes what is too much the ordinary, guarded way. What is equal stays as it is.
 */
export const REPAIR: OwnerRequestKind<RepairParameters, readonly PullOutcome[]> = {
  kind: 'repair',
  read: (given) => readParameters(parameters, given),
  async meet({ collections }, work) {
    const names = collections.map(({ name }) => name);
    const unknown = names.find((name) => !work.session.writers.has(name));
    if (unknown !== undefined) throw notMirrored(unknown);
    for (const { name, ...corrupt } of collections) {
      await work.report({ collection: name, what: 'index' });
      await rebuildIndex(work, name, corrupt);
    }
    await work.report({ collection: names.join(', '), what: 'pass' });
    const sync = (collection: CollectionName, options: SyncOptions = {}) =>
      work.sync(collection, 'FULL', { ...options, republication: { hidesUnattributed: true } });
    const syncs = {
      ...work,
      sync: (name: CollectionName, _mode: unknown, options?: SyncOptions) => sync(name, options),
    };
    return PULL.meet({ collections: names, full: true, acceptNew: false }, syncs);
  },
};

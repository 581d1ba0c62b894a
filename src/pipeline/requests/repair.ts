import { z } from 'zod';
import { COLLECTIONS } from '../../model/collections.ts';
import { notMirrored, readParameters, type OwnerRequestKind } from './owner-request.ts';
import { PULL, type PullOutcome } from './pull.ts';
import { rebuildIndex } from './rebuild-index.ts';

/** Further keys need another repair. */
export const MAX_CORRUPT_KEYS = 50_000;

const keys = z.array(z.string()).max(MAX_CORRUPT_KEYS);

const parameters = z.strictObject({
  /** Source collections. */
  collections: z
    .array(
      z.strictObject({
        name: z.enum(COLLECTIONS),
        /** Keys of records that are unreadable or do not match their hash: of rows, rejects, and absences. */
        rows: keys,
        rejects: keys,
        absences: keys,
      }),
    )
    .min(1),
});

export type RepairParameters = z.output<typeof parameters>;

/**
 * `rollcall verify --repair`: rebuilds the index from the topics without corrupt records, and runs a full sync, which
 * publishes what is missing, and removes what is left over, subject to the guard. Equal records are not published.
 */
export const REPAIR: OwnerRequestKind<RepairParameters, readonly PullOutcome[]> = {
  kind: 'repair',
  read: (given) => readParameters(parameters, given),
  async handle({ collections }, work) {
    const names = collections.map(({ name }) => name);
    const unknown = names.find((name) => !work.session.writers.has(name));
    if (unknown !== undefined) throw notMirrored(unknown);
    for (const { name, ...corrupt } of collections) {
      await work.report({ collection: name, what: 'index' });
      await rebuildIndex(work, name, corrupt);
    }
    await work.report({ collection: names.join(', '), what: 'pass' });
    return PULL.handle({ collections: names, full: true, acceptNew: false }, work);
  },
};

import { z } from 'zod';
import { COLLECTIONS, type CollectionName } from '../model/collections.ts';
import { notMirrored, readParameters, type OwnerRequestKind } from './owner-request.ts';
import { rebuildAbsencesAnew, rebuildIndex } from './rebuild-index.ts';

const parameters = z.strictObject({
  /** Source collections; empty: all mirrored ones. */
  collections: z.array(z.enum(COLLECTIONS)),
  /** Whether to null what was published of absences, and to derive them again; only for `absence-versions`. */
  anew: z.boolean(),
});

export type RebuildParameters = z.output<typeof parameters>;

/** Survives JSON. */
export interface RebuiltIndex {
  readonly collection: CollectionName;
  readonly rows: number;
  readonly rejects: number;
}

/** `rollcall state rebuild`: drops indexes and rebuilds them from the topics, one after another; or begins anew. */
export const REBUILD: OwnerRequestKind<RebuildParameters, readonly RebuiltIndex[]> = {
  kind: 'rebuild',
  read: (given) => readParameters(parameters, given),
  async handle({ collections, anew }, work) {
    const { writers } = work.session;
    const wanted = collections.length > 0 ? collections : [...writers.keys()];
    const unknown = wanted.find((collection) => !writers.has(collection));
    if (unknown !== undefined) throw notMirrored(unknown);
    const rebuilt: RebuiltIndex[] = [];
    for (const collection of wanted) {
      const writer = writers.get(collection);
      if (writer === undefined) continue;
      await work.report({ collection });
      if (anew && collection === 'absence-versions') {
        await rebuildAbsencesAnew(work);
        await work.sync(collection, 'FULL');
      } else await rebuildIndex(work, collection);
      const { rows, rejects } = writer.known;
      rebuilt.push({ collection, rows, rejects });
    }
    return rebuilt;
  },
};

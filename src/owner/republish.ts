import { z } from 'zod';
import { COLLECTIONS, sourceOf } from '../model/collections.ts';
import { randomSeed } from '../core/seen-keys.ts';
import { onceEach } from '../core/seen-keys.ts';
import { notMirrored, readParameters, type OwnerRequestKind } from './owner-request.ts';
import { republishEvents } from './republish-events.ts';

/** For more keys than this, republishing the entire collection is better. */
export const MOST_KEYS = 1_000;

const parameters = z.strictObject({
  collection: z.enum(COLLECTIONS),
  /** Empty: all of them. */
  keys: z.array(z.string()).max(MOST_KEYS),
});

type RepublishParameters = z.output<typeof parameters>;

/** Survives JSON. */
export interface Republished {
  /** Number of published keys, unchanged or changed. */
  readonly published: number;
  /** Named keys that the hub does not have; of `absence-changes`, that have no event. */
  readonly missing: readonly string[];
  /** Why the sync may not have seen all rows; null when it saw all. */
  readonly why: string | null;
  /** Number of rows that the hub no longer has and whose removal needs a decision. */
  readonly withheld: number;
}

/**
 * `rollcall republish`: a full sync that publishes rows although they have not changed; of `absence-changes` the last
 * event of each absence, from the topic.
 */
export const REPUBLISH: OwnerRequestKind<RepublishParameters, Republished> = {
  kind: 'republish',
  read: (given) => readParameters(parameters, given),
  async handle({ collection, keys }, work) {
    const { chains } = work.parts;
    const writer = work.session.writers.get(sourceOf(collection));
    if (writer === undefined) throw notMirrored(collection);
    const missing = new Set(keys);
    const takesOnce = onceEach(keys.length === 0 ? 'all' : new Set(keys), randomSeed());
    let published = 0;
    const wanted = (key: string): boolean => {
      if (!takesOnce(key)) return false;
      published += 1;
      missing.delete(key);
      return true;
    };
    if (collection === 'absence-changes') {
      if (chains === undefined) throw notMirrored(collection);
      await republishEvents(work, { writer, chains, wanted });
      if (keys.length === 0) await writer.publishedAgain(collection);
      return { published, missing: [...missing], why: null, withheld: 0 };
    }
    const republication = collection === 'absences' ? { absences: wanted } : { rows: wanted };
    const result = await work.sync(sourceOf(collection), 'FULL', { republication });
    const why = result.kind === 'inconclusive' ? result.why : null;
    const withheld = result.kind === 'becomes-full' ? 0 : result.withheld;
    if (keys.length === 0 && why === null && withheld === 0) await writer.publishedAgain(collection);
    return { published, missing: [...missing], why, withheld };
  },
};

import { z } from 'zod';
import { digestOfList } from '../../core/withheld-list.ts';
import { isFromHub } from '../../errors.ts';
import { COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import type { SyncResult } from '../sync-result.ts';
import { countWithheld } from '../withholding.ts';
import { notMirrored, readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { readWithheldList, type WithheldList } from './withheld-list.ts';

const parameters = z.strictObject({
  action: z.enum(['approve', 'discard']),
  /** Empty: all that are mirrored. */
  collections: z.array(z.enum(COLLECTIONS)),
  /** The lists that are approved, by digest. */
  digests: z.array(z.string()).default([]),
});

export type DeletesParameters = z.output<typeof parameters>;

/** What a decision on a collection's withheld removals came to; survives JSON. */
export interface DeletesOutcome {
  readonly collection: CollectionName;
  /**
   * - `done`: what was approved is released, or what was listed is discarded
   * - `other-list`: the list is not one of those that were approved; nothing was released
   * - `nothing`: no list is there
   * - `suspect`: the hub proved nothing; nothing was released
   * - `failed`: the hub failed; nothing was released
   */
  readonly outcome: 'done' | 'other-list' | 'nothing' | 'suspect' | 'failed';
  /** Keys of the list that was decided on. */
  readonly listed: number;
  readonly released: number;
  /** Keys of the list that the hub has (again): they stay. */
  readonly back: number;
  /** Removals that wait now. */
  readonly waiting: number;
  readonly why: string | null;
  readonly remedy: string | null;
}

/** `rollcall deletes`: what a person decides on removals that wait. */
export const DELETES: OwnerRequestKind<DeletesParameters, readonly DeletesOutcome[]> = {
  kind: 'deletes',
  read: (given) => readParameters(parameters, given),
  async meet(asked, work) {
    const { runners } = work.session;
    const wanted = asked.collections.length > 0 ? asked.collections : [...runners.keys()];
    return Promise.all(
      wanted.map((collection) => {
        const runner = runners.get(collection);
        if (runner === undefined) throw notMirrored(collection);
        return decideOn(work, collection, asked);
      }),
    );
  },
};

/** Throws what calls the log or the index in question: then the whole request is repeated in a new session. */
async function decideOn(
  work: OwnerWork,
  collection: CollectionName,
  asked: DeletesParameters,
): Promise<DeletesOutcome> {
  try {
    const list = await currentList(work, collection);
    const isNothing = asked.action === 'discard' ? list.count === 0 : list.keys.length === 0;
    if (isNothing) return outcome(collection, { outcome: 'nothing', waiting: list.count });
    switch (asked.action) {
      case 'discard':
        return await discard(work, collection, list);
      case 'approve':
        if (!asked.digests.includes(digestOfList(collection, list.keys)))
          return outcome(collection, { outcome: 'other-list', waiting: list.count });
        return await approve(work, collection, list);
    }
  } catch (error) {
    if (!isFromHub(error)) throw error;
    return outcome(collection, {
      outcome: 'failed',
      waiting: (await currentList(work, collection)).count,
      why: error.message,
      remedy: error.remedy,
    });
  }
}

function currentList({ parts, session }: OwnerWork, collection: CollectionName): Promise<WithheldList> {
  const progress = session.runners.get(collection)?.progress ?? null;
  return readWithheldList(parts.state.deletions, collection, progress);
}

/** A full pass at once, which lets out what the list names and the pass does not meet. */
async function approve(
  work: OwnerWork,
  collection: CollectionName,
  list: WithheldList,
): Promise<DeletesOutcome> {
  const listed = list.keys.length;
  const result = await work.sync(collection, 'FULL', { approved: new Set(list.keys) });
  const after = await currentList(work, collection);
  const waiting = after.count;
  const approvedGone = result.kind === 'wholesale' ? null : result.approvedGone;
  if (approvedGone == null) {
    return outcome(collection, { outcome: 'suspect', listed, waiting, ...whyUnproven(result) });
  }
  const stillListed = new Set(after.keys);
  const left = list.keys.filter((key) => stillListed.has(key)).length;
  const back = Math.max(0, listed - approvedGone - left);
  return outcome(collection, { outcome: 'done', listed, released: approvedGone, back, waiting });
}

function whyUnproven(result: SyncResult): { why: string; remedy: string } {
  return {
    why: result.kind === 'suspect' ? result.why : 'the full pass did not prove that it saw every row',
    remedy: 'Nothing was released. Look at what the hub answers, and give the command again.',
  };
}

async function discard(
  work: OwnerWork,
  collection: CollectionName,
  list: WithheldList,
): Promise<DeletesOutcome> {
  const { deletions } = work.parts.state;
  const runner = work.session.runners.get(collection);
  await runner?.discardWithheld();
  const progress = runner?.progress ?? null;
  return outcome(collection, {
    outcome: 'done',
    listed: list.keys.length,
    waiting: await countWithheld(deletions, collection, progress),
  });
}

function outcome(
  collection: CollectionName,
  what: Pick<DeletesOutcome, 'outcome' | 'waiting'> & Partial<DeletesOutcome>,
): DeletesOutcome {
  return { collection, listed: 0, released: 0, back: 0, why: null, remedy: null, ...what };
}

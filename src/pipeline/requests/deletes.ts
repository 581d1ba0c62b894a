import { z } from 'zod';
import { digestOfList } from '../../core/withheld-digest.ts';
import { isFromHub } from '../../errors.ts';
import { COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import type { SyncResult } from '../sync-result.ts';
import { countWithheld } from '../withheld-deletions.ts';
import { notMirrored, readParameters, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { readWithheldList, type WithheldList } from './read-withheld-list.ts';

const parameters = z.strictObject({
  action: z.enum(['approve', 'discard']),
  /** Empty: all mirrored collections. */
  collections: z.array(z.enum(COLLECTIONS)),
  /** Digests of the approved lists. */
  digests: z.array(z.string()).default([]),
});

export type DeletesParameters = z.output<typeof parameters>;

/** The result of a decision on a collection's withheld removals; survives JSON. */
export interface DeletesOutcome {
  readonly collection: CollectionName;
  /**
   * - `done`: the approved list is released, or the list is discarded
   * - `other-list`: the list is not one of the approved ones; nothing was released
   * - `nothing`: there is no list
   * - `suspect`: the hub's answers were inconclusive; nothing was released
   * - `failed`: the hub failed; nothing was released
   */
  readonly outcome: 'done' | 'other-list' | 'nothing' | 'suspect' | 'failed';
  /** Number of keys in the list. */
  readonly listed: number;
  readonly released: number;
  /** Number of listed keys that the hub has again: these rows stay. */
  readonly back: number;
  /** Number of removals that are withheld now. */
  readonly waiting: number;
  readonly why: string | null;
  readonly remedy: string | null;
}

/** `rollcall deletes`: applies a person's decision on withheld removals. */
export const DELETES: OwnerRequestKind<DeletesParameters, readonly DeletesOutcome[]> = {
  kind: 'deletes',
  read: (given) => readParameters(parameters, given),
  async handle(asked, work) {
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

/** Throws the errors of log and index: the request is then repeated in a new session. */
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

/** Runs a full sync at once, which removes the listed rows that it does not find. */
async function approve(
  work: OwnerWork,
  collection: CollectionName,
  list: WithheldList,
): Promise<DeletesOutcome> {
  const listed = list.keys.length;
  const result = await work.sync(collection, 'FULL', { approved: new Set(list.keys) });
  const after = await currentList(work, collection);
  const waiting = after.count;
  const approvedGone = result.kind === 'oversized' ? null : result.approvedGone;
  if (approvedGone == null) {
    return outcome(collection, { outcome: 'suspect', listed, waiting, ...whyUnproven(result) });
  }
  const stillListed = new Set(after.keys);
  const remaining = list.keys.filter((key) => stillListed.has(key)).length;
  const back = Math.max(0, listed - approvedGone - remaining);
  return outcome(collection, { outcome: 'done', listed, released: approvedGone, back, waiting });
}

function whyUnproven(result: SyncResult): { why: string; remedy: string } {
  return {
    why: result.kind === 'inconclusive' ? result.why : 'the full sync did not prove that it saw every row',
    remedy: 'Nothing was released. Check what the hub answers, and give the command again.',
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

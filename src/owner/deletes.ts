import { z } from 'zod';
import { acceptCommand, named, WRONG_TENANT_REMEDY } from '../core/health/decisions.ts';
import { describeError, isFromHub, RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { readWaiting, type Waiting } from '../sync/read-waiting.ts';
import type { Approved } from '../table/deletions.ts';
import { ownerRequest, type OwnerWork } from './owner-request.ts';
import { person } from './person.ts';

const parameters = z.strictObject({
  /** The digest of the list that was approved. */
  digest: z.string(),
  person,
});

/** The result for one collection of the list; survives JSON. */
export interface ApprovedCollection {
  readonly collection: CollectionName;
  /** `inconclusive`: the full sync does not count, `failed`: the hub failed. Nothing was removed then. */
  readonly outcome: 'done' | 'inconclusive' | 'failed';
  readonly listed: number;
  readonly removed: number;
  /** Listed rows that the hub has again: they stay. */
  readonly back: number;
  readonly why: string | null;
  readonly remedy: string | null;
}

export interface ApproveOutcome {
  /** False: the list is another one now, and nothing was removed. */
  readonly isSame: boolean;
  /** Rows on the list as it is now, before anything was removed. */
  readonly rows: number;
  readonly collections: readonly ApprovedCollection[];
  /** Rows that wait for a decision afterwards. */
  readonly waiting: number;
}

/** `rollcall deletes approve`: a full sync of the collections concerned, which removes what is listed and still missing. */
export const APPROVE = ownerRequest({
  kind: 'approve',
  parameters,
  async handle({ digest, person: by }, work): Promise<ApproveOutcome> {
    const waiting = await waitingOf(work);
    const refusal = approvalRefused(work.tenant.tenantId, waiting);
    if (refusal !== null) throw refusal;
    const { rows, digest: present, collections: list } = waiting;
    if (present !== digest) return { isSame: false, rows, collections: [], waiting: rows };
    const atMs = work.tenant.runtime.now();
    const collections = await Promise.all(
      list
        .filter(({ keys }) => keys.length > 0)
        .map(({ collection, keys }) => {
          return approve(work, collection, { keys: new Set(keys), given: { ...by, digest, atMs } });
        }),
    );
    return { isSame: true, rows, collections, waiting: (await waitingOf(work)).rows };
  },
});

/** Why nothing can be approved: first a person decides whose data the hub shows, for another tenant's has none of the rows. */
export function approvalRefused(tenantId: string, { foreign }: Waiting): RollcallError | null {
  if (foreign.length === 0) return null;
  const what = `Nothing can be approved: the rows that the hub returns for ${named(foreign)} may be another tenant's`;
  const remedy = `Decide that first. ${WRONG_TENANT_REMEDY}: ${acceptCommand(tenantId)}`;
  return new RollcallError('HUB_FOREIGN_DATA', what, { remedy });
}

function waitingOf({ tenant, runners }: OwnerWork): Promise<Waiting> {
  const progress = new Map([...runners].map(([name, runner]) => [name, runner.progress]));
  return readWaiting(tenant.state.deletions, progress);
}

/** Throws the errors of log and index: the request is then repeated in a new session. */
async function approve(
  work: OwnerWork,
  collection: CollectionName,
  approved: Approved,
): Promise<ApprovedCollection> {
  const listed = approved.keys.size;
  const nothing = { collection, listed, removed: 0, back: 0 };
  try {
    const result = await work.sync(collection, 'FULL', { approved });
    const removed = result.approvedGone ?? null;
    if (removed !== null)
      return { ...nothing, outcome: 'done', removed, back: listed - removed, why: null, remedy: null };
    const why = result.kind === 'inconclusive' ? result.why : 'the full sync did not see every row';
    const remedy = 'Nothing was removed. Check what the hub answers, and run the command again.';
    return { ...nothing, outcome: 'inconclusive', why, remedy };
  } catch (error) {
    if (!isFromHub(error)) throw error;
    const remedy = error instanceof RollcallError ? error.remedy : null;
    return { ...nothing, outcome: 'failed', why: describeError(error), remedy };
  }
}

import { z } from 'zod';
import { MAX_UNSEEN_KEYS } from '../core/deletions/decide-missing.ts';
import { isNearlyAllOf } from '../core/deletions/guard.ts';
import type { PartRows } from '../core/deletions/parts.ts';
import { digestOf } from '../core/deletions/waiting-list.ts';
import { acceptCommand, named, WRONG_TENANT_REMEDY } from '../core/health/decisions.ts';
import { describeError, isFromHub, RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { readWaiting, type Waiting } from '../sync/read-waiting.ts';
import type { Approved } from '../table/deletions.ts';
import { ownerRequest, person, type OwnerWork } from './owner-request.ts';

const MOST_PARTS = 100;

const partKeys = z.array(z.string()).max(MAX_UNSEEN_KEYS);

/** A part of the list: its digest, and the keys of its rows by collection. */
const part = z.strictObject({ digest: z.string(), rows: z.record(z.string(), partKeys) });

const parameters = z.strictObject({ parts: z.array(part).min(1).max(MOST_PARTS), person });

interface ListedPart {
  readonly digest: string;
  readonly collections: readonly Pick<PartRows, 'collection' | 'keys'>[];
}

/** Names a part to the owner, which has the same list. */
export function requestFor({ digest, collections }: ListedPart): z.infer<typeof part> {
  return { digest, rows: Object.fromEntries(collections.map((each) => [each.collection, [...each.keys]])) };
}

/** The result for one collection of the approved parts; survives JSON. */
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
  /** False: a part has changed since it was listed, and nothing was removed. */
  readonly isSame: boolean;
  readonly collections: readonly ApprovedCollection[];
  /** Rows that wait for a decision afterwards. */
  readonly waiting: number;
}

/** `rollcall deletes approve`: a full sync of the collections concerned, which removes the rows of the parts that are still missing. */
export const APPROVE = ownerRequest({
  kind: 'approve',
  parameters,
  async handle({ parts, person: by }, work): Promise<ApproveOutcome> {
    const waiting = await waitingOf(work);
    const refusal = approvalRefused(work.tenant.tenantId, waiting);
    if (refusal !== null) throw refusal;
    const waitingParts = parts.map((each) => waitingPart(each, waiting));
    if (waitingParts.some(({ digest, collections }) => digestOf(collections) !== digest))
      return { isSame: false, collections: [], waiting: waiting.rows };
    const approvals = approvalsOf(waitingParts, { ...by, atMs: work.tenant.runtime.now() });
    if (by.reason === null) requireNoReason(approvals, work);
    const collections = await Promise.all(approvals.map((each) => approve(work, each)));
    return { isSame: true, collections, waiting: (await waitingOf(work)).rows };
  },
});

type WaitingPart = ReturnType<typeof waitingPart>;

/** The rows of a part that wait now, by collection. If the part is the same as when it was listed, they have its digest. */
function waitingPart({ digest, rows }: z.infer<typeof part>, waiting: Waiting) {
  const collections = waiting.collections.map(({ collection, keys, misses }) => {
    const ofPart = new Set(rows[collection]);
    return { collection, misses, keys: keys.filter((key) => ofPart.has(key)) };
  });
  return { digest, collections: collections.filter(({ keys }) => keys.length > 0) };
}

type Approval = Approved & { readonly collection: CollectionName };

/** The approval of each collection. Its rows may be in several parts: then it has the digests of all of them. */
function approvalsOf(parts: readonly WaitingPart[], given: Omit<Approved['given'], 'digest'>): Approval[] {
  const lists = parts.flatMap(({ digest, collections }) =>
    collections.map(({ collection, keys }) => ({ digest, collection, keys })),
  );
  return [...Map.groupBy(lists, ({ collection }) => collection)].map(([collection, some]) => ({
    collection,
    keys: new Set(some.flatMap(({ keys }) => keys)),
    given: { ...given, digest: some.map(({ digest }) => digest).join(' ') },
  }));
}

/** Throws `USAGE_INVALID` if an approval would leave hardly any row of a collection. */
function requireNoReason(approvals: readonly Approval[], { writers }: OwnerWork): void {
  const nearlyAll = approvals.flatMap(({ collection, keys }) =>
    isNearlyAllOf(keys.size, writers.get(collection)?.known.rows ?? 0) ? [collection] : [],
  );
  if (nearlyAll.length === 0) return;
  const what = `Nothing was removed: the rows to remove are 90 % or more of all rows of ${named(nearlyAll)}, and the command gives no reason`;
  const remedy =
    'If the hub has really lost these rows, add --reason "<text>". "rollcall deletes history" shows the reason later.';
  throw new RollcallError('USAGE_INVALID', what, { remedy });
}

/** Why nothing can be approved: first a person must decide whose data the hub shows, because another tenant's data has none of the rows. */
export function approvalRefused(tenantId: string, { foreign }: Waiting): RollcallError | null {
  if (foreign.length === 0) return null;
  const what = `Nothing can be approved: the rows that the hub returns for ${named(foreign)} may be another tenant's`;
  const remedy = `First decide whose rows they are. ${WRONG_TENANT_REMEDY}: ${acceptCommand(tenantId)}`;
  return new RollcallError('HUB_FOREIGN_DATA', what, { remedy });
}

function waitingOf({ tenant, runners }: OwnerWork): Promise<Waiting> {
  const progress = new Map([...runners].map(([name, runner]) => [name, runner.progress]));
  return readWaiting(tenant.state.deletions, progress);
}

/** Throws the errors of log and index: the request is then repeated in a new session. */
async function approve(work: OwnerWork, { collection, ...approved }: Approval): Promise<ApprovedCollection> {
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

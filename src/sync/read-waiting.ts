import { MAX_UNSEEN_KEYS, validList } from '../core/deletions/decide-missing.ts';
import { waitingList, type WaitingRows } from '../core/deletions/waiting-list.ts';
import type { CollectionName } from '../model/collections.ts';
import { foreignSince, type Progress } from '../model/progress.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/** Everything in a tenant that waits for a decision. */
export interface Waiting {
  readonly collections: readonly (WaitingRows & {
    /** Number of missing rows, including those that no list can hold. */
    readonly count: number;
    /** Why the collection is on hold, as the last full sync found it. If rows have come back since then, it says that instead. */
    readonly why: string | null;
  })[];
  /** Number of keys on the list. */
  readonly rows: number;
  /** Collections whose rows at the hub may be another tenant's: that is to be decided first. */
  readonly foreign: readonly CollectionName[];
}

/** `progress`: the last record of each mirrored collection. Reads Redis only while a collection is on hold. */
export async function readWaiting(
  memory: Pick<DeletionMemory, 'missing'>,
  progress: ReadonlyMap<CollectionName, Progress | null>,
): Promise<Waiting> {
  const isOnHold = [...progress.values()].some((each) => each?.deletions?.onHoldSinceMs != null);
  const foreign = [...progress].flatMap(([name, each]) => (foreignSince(each) === null ? [] : [name]));
  if (!isOnHold) return { collections: [], rows: 0, foreign };
  const known = await Promise.all(
    [...progress].map(async ([collection, record]) => {
      const { settledBy = null, onHoldSinceMs = null } = record?.deletions ?? {};
      const keys = validList(await memory.missing(collection), settledBy)?.keys ?? null;
      return { collection, keys, onHoldSinceMs };
    }),
  );
  const list = waitingList(known);
  const rows = list.reduce((sum, { keys }) => sum + keys.length, 0);
  return {
    collections: list.map((each) => {
      const record = progress.get(each.collection);
      const { rowsOnHold: missed = 0, deletions } = record ?? {};
      const hasMore = each.isOnHold && (each.isLost || missed > MAX_UNSEEN_KEYS);
      const count = hasMore ? Math.max(each.keys.length, missed) : each.keys.length;
      return Object.assign({}, each, { count, why: deletions?.why ?? null });
    }),
    rows,
    foreign,
  };
}

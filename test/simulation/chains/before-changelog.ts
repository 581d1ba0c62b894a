import type { TenantLog } from '../../../src/log/log.ts';
import { STATE_TOPIC, type CollectionName } from '../../../src/model/collections.ts';
import type { Progress } from '../../../src/model/progress.ts';
import type { CollectionIndex } from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';

/** `progress` as a version without the changelog writes it. */
export function withoutMarks(
  progress: ReadonlyMap<CollectionName, Progress>,
): ReadonlyMap<CollectionName, Progress> {
  return new Map([...progress].map(([name, each]) => [name, withoutMark(each)]));
}

/** The log of a process of a version that wrote no changelog, and knew nothing of it. */
export function logBeforeChangelog(log: TenantLog): TenantLog {
  return withOther(log, {
    own: async (signal) => {
      const ownership = await log.own(signal);
      return { ...ownership, progress: withoutMarks(ownership.progress) };
    },
    commit: (transaction) =>
      log.commit({
        ...transaction,
        records: transaction.records.filter(({ topic }) => topic !== STATE_TOPIC),
        progress: withoutMark(transaction.progress),
      }),
  });
}

/** The index as such a process writes it. */
export function indexBeforeChangelog(index: CollectionIndex): CollectionIndex {
  return withOther(index, {
    apply: (previous, position, changes) =>
      index.apply(previous, { ...position, absenceState: undefined }, changes),
  });
}

function withoutMark(progress: Progress): Progress {
  return { ...progress, absenceState: undefined };
}

import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type {
  CollectionIndex,
  DeletionMemory,
  IndexChange,
  TenantState,
} from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';
import type { TenantWorld } from './tenant-world.ts';

/* Faulty parts of a simulated world, for the planted mistakes. */

export function withDeletions(state: TenantState, other: Partial<DeletionMemory>): TenantState {
  return withOther(state, { deletions: withOther(state.deletions, other) });
}

export function withIndexes(
  state: TenantState,
  misuse: (index: CollectionIndex, name: CollectionName) => CollectionIndex,
): TenantState {
  return withOther(state, { collection: (name: CollectionName) => misuse(state.collection(name), name) });
}

const hereOf = async (index: CollectionIndex): Promise<string | null> =>
  (await index.position())?.transactionId ?? null;

/** An index that is read and written wherever it is. */
export function readAnywhere(index: CollectionIndex): CollectionIndex {
  return withOther(index, {
    lookup: async (area, keys) => index.lookup(area, keys, await hereOf(index)),
    apply: async (_previous, position, changes) => index.apply(await hereOf(index), position, changes),
  });
}

/** An index that claims to be at the end of the log, wherever it is. */
export function alwaysCurrent(
  index: CollectionIndex,
  name: CollectionName,
  { broker }: TenantWorld,
): CollectionIndex {
  return withOther(readAnywhere(index), {
    position: async () => {
      const position = await index.position();
      const newest = broker.transactions.findLast(({ progress }) => progress.collection === name)?.progress;
      return position === null || newest === undefined
        ? null
        : { ...position, transactionId: newest.transactionId };
    },
  });
}

/** A hub whose pages, and their end, are read otherwise. */
export function withPages(
  hub: Hub,
  page: (page: HubPage, options: ReadOptions) => HubPage,
  end: (end: ScanEnd, options: ReadOptions) => ScanEnd = (each) => each,
): Hub {
  return withOther(hub, {
    async *readPages(options): AsyncGenerator<HubPage, ScanEnd> {
      const pages = hub.readPages(options);
      for (;;) {
        const step = await pages.next();
        if (step.done === true) return end(step.value, options);
        yield page(step.value, options);
      }
    },
  });
}

export function reversed(page: HubPage): HubPage {
  return { ...page, rows: page.rows.toReversed() };
}

export function withChanges(
  index: CollectionIndex,
  change: (changes: readonly IndexChange[]) => readonly IndexChange[],
): CollectionIndex {
  return withOther(index, {
    apply: (previous, position, changes) => index.apply(previous, position, change(changes)),
  });
}

import type { Hub, HubPage, ScanEnd } from '../../../src/hub/hub.ts';
import { compositeKey } from '../../../src/model/keys.ts';
import type { TenantParts } from '../../../src/pipeline/tenant-parts.ts';
import type { CollectionIndex } from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';
import { AFTERSCHOOL_USERS, afterschoolOf } from './afterschools.ts';
import type { SeededTenantMistake } from './seeded-mistake.ts';
import { AFTERSCHOOLS } from './tenant-hub.ts';
import { withIndexes } from './with-state.ts';

function wantedAfterschools({ collections }: TenantParts): readonly string[] {
  return collections.flatMap(({ parentIds = [] }) => parentIds);
}

/** As if the configuration named every afterschool. */
function mirroringAll(parts: TenantParts): TenantParts {
  const collections = parts.collections.map((each) =>
    each.name === AFTERSCHOOL_USERS ? { ...each, parentIds: AFTERSCHOOLS } : each,
  );
  return { ...parts, collections };
}

/* Mistakes with afterschools that enter the configuration, leave it and come back. */
export const AFTERSCHOOL_MISTAKES: readonly SeededTenantMistake[] = [
  {
    name: 'rows of an afterschool that left the configuration count as lost',
    troubles: 'restarts',
    finds: 'removed although the configuration does not name its afterschool',
    mistake: {
      parts: (parts) => ({
        ...mirroringAll(parts),
        hub: withoutOthers(parts.hub, wantedAfterschools(parts)),
      }),
    },
  },
  {
    name: 'rows that left with their afterschool are withheld',
    troubles: 'restarts',
    finds: 'withheld although the configuration does not name its afterschool',
    mistake: {
      parts: (parts) => ({
        ...mirroringAll(parts),
        guard: { ...parts.guard, rows: 0, ratio: 0 },
        hub: withoutOthers(parts.hub, wantedAfterschools(parts)),
      }),
    },
  },
  {
    name: 'an afterschool that left the configuration is still mirrored',
    troubles: 'restarts',
    finds: 'published although the configuration does not name its afterschool',
    mistake: { parts: mirroringAll },
  },
  {
    name: 'an afterschool that entered the configuration is not loaded at the start',
    troubles: 'restarts',
    finds: 'not loaded at the start',
    mistake: {
      namesOthers: true,
      state: (state) =>
        withIndexes(state, (index, name) => (name === AFTERSCHOOL_USERS ? neverLacking(index) : index)),
    },
  },
  {
    name: 'an afterschool that comes back is published again',
    troubles: 'restarts',
    finds: 'published twice',
    mistake: {
      trouble: 0,
      namesOthers: true,
      state: (state, world) => {
        const before = world.afterschoolsOf(world.processes.length);
        return withIndexes(state, (index, name) =>
          name === AFTERSCHOOL_USERS ? knowingOnly(before, index) : index,
        );
      },
    },
  },
  {
    name: 'a purge overlooks a row',
    troubles: 'restarts',
    finds: 'left of what was purged',
    mistake: {
      namesOthers: true,
      state: (state) =>
        withIndexes(state, (index, name) => (name === AFTERSCHOOL_USERS ? overlooking(index) : index)),
    },
  },
];

type Pages = AsyncGenerator<HubPage, ScanEnd>;

/** A hub that seems to have no rows of afterschools that are not named. */
function withoutOthers(hub: Hub, named: readonly string[]): Hub {
  const isOther = (parentId: string | undefined): boolean =>
    parentId !== undefined && AFTERSCHOOLS.includes(parentId) && !named.includes(parentId);
  return withOther(hub, {
    readPages: (options) => (isOther(options.parentId) ? noRows() : hub.readPages(options)),
    findExisting: async (options) =>
      isOther(options.parentId) ? new Set<string>() : hub.findExisting(options),
  });
}

// eslint-disable-next-line require-yield
async function* noRows(): Pages {
  return { reason: 'no-rows', paging: 'keyset', rows: 0, totalAtStart: 0, totalAtEnd: 0 };
}

/** An index in which each afterschool seems to have a row until the work begins. */
function neverLacking(index: CollectionIndex): CollectionIndex {
  let isWorking = false;
  const working = <T>(result: T): T => {
    isWorking = true;
    return result;
  };
  return withOther(index, {
    lookup: (area, keys, expected) => working(index.lookup(area, keys, expected)),
    apply: (previous, position, changes) => working(index.apply(previous, position, changes)),
    async *keys(area) {
      if (!isWorking) yield AFTERSCHOOLS.map((id) => compositeKey(id, 'any'));
      yield* index.keys(area);
    },
  });
}

/** An index without the rows of afterschools that the process before did not name. */
function knowingOnly(afterschools: readonly string[], index: CollectionIndex): CollectionIndex {
  const isKnown = (key: string): boolean =>
    afterschools.includes(afterschoolOf(AFTERSCHOOL_USERS, key) ?? '');
  return withOther(index, {
    lookup: async (area, keys, expected) => {
      const values = await index.lookup(area, keys, expected);
      return values.map((value, at) => (area === 'rows' && !isKnown(keys[at] ?? '') ? null : value));
    },
  });
}

/** An index that never lists its first key. */
function overlooking(index: CollectionIndex): CollectionIndex {
  return withOther(index, {
    async *keys(area) {
      let isFirst = true;
      for await (const batch of index.keys(area)) {
        yield area === 'rows' && isFirst ? batch.slice(1) : batch;
        isFirst = false;
      }
    },
  });
}

import type { Tenant } from '../../../src/table/tenant.ts';
import type { CollectionIndex } from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';
import { AFTERSCHOOL_USERS, afterschoolOf } from './afterschools.ts';
import { plantedIn } from './tenant-world.ts';
import { AFTERSCHOOLS } from './tenant-hub.ts';
import { withIndexes } from './misused-parts.ts';

/** As if the configuration named these afterschools. */
function mirroring(parts: Tenant, parentIds: readonly string[]): Tenant {
  const collections = parts.collections.map((each) =>
    each.name === AFTERSCHOOL_USERS ? { ...each, parentIds } : each,
  );
  return { ...parts, collections };
}

/* Mistakes with afterschools that enter the configuration, leave it and come back. */
export const AFTERSCHOOL_MISTAKES = plantedIn('tenant-restarts', [
  {
    name: 'an afterschool that left the configuration is still mirrored',
    finds: 'published although the configuration does not name its afterschool',
    parts: (parts) => mirroring(parts, AFTERSCHOOLS),
  },
  {
    name: 'an afterschool that entered the configuration is not loaded at the start',
    finds: 'not loaded at the start',
    namesOthers: true,
    parts: (parts) => mirroring(parts, AFTERSCHOOLS.slice(0, 1)),
  },
  {
    name: 'an afterschool that comes back is published again',
    finds: 'published twice',
    trouble: 0,
    namesOthers: true,
    state: (state, world) => {
      const before = world.afterschoolsOf(world.processes.length);
      return withIndexes(state, (index, name) =>
        name === AFTERSCHOOL_USERS ? knowingOnly(before, index) : index,
      );
    },
  },
]);

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

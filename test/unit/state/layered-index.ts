import type { CollectionIndex, IndexArea } from '../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';

const MOST_LAYERS = 8;

/** An index for tests: before each write, what there is becomes the index below a new overlay. */
export function layeredIndex(areas: readonly IndexArea[]): CollectionIndex {
  let top = new MemoryIndex({ name: 'layered', areas, base: null });
  let layers = 1;
  const addLayer = async (): Promise<void> => {
    const at = await top.position();
    if (at === null || layers === MOST_LAYERS) return;
    layers += 1;
    top = new MemoryIndex({ name: 'layered', areas, base: { index: top, at } });
  };
  return {
    position: () => top.position(),
    lookup: (...asked) => top.lookup(...asked),
    count: (area) => top.count(area),
    keys: (area) => top.keys(area),
    entries: (area) => top.entries(area),
    apply: async (...written) => {
      await addLayer();
      await top.apply(...written);
    },
    rebuild: () => {
      layers = 1;
      return top.rebuild();
    },
    resume: async (from) => {
      await addLayer();
      return top.resume(from);
    },
  };
}

import type {
  CollectionIndex,
  IndexArea,
  IndexChange,
  IndexPosition,
  IndexReplay,
} from '../../../src/state/index-store.ts';
import { MemoryIndex } from '../../../src/state/memory-index.ts';

const MOST_LAYERS = 8;

/** An index for tests: before each write, what there is becomes the index below a new overlay. */
export class LayeredIndex implements CollectionIndex {
  readonly #areas: readonly IndexArea[];
  #top: MemoryIndex;
  #layers = 1;

  constructor(areas: readonly IndexArea[]) {
    this.#areas = areas;
    this.#top = new MemoryIndex({ name: 'layered', areas, base: null });
  }

  position(): Promise<IndexPosition | null> {
    return this.#top.position();
  }

  lookup(area: IndexArea, keys: readonly string[], expected: string | null) {
    return this.#top.lookup(area, keys, expected);
  }

  async apply(
    previous: string | null,
    position: IndexPosition,
    changes: readonly IndexChange[],
  ): Promise<void> {
    await this.#addLayer();
    await this.#top.apply(previous, position, changes);
  }

  count(area: IndexArea): Promise<number> {
    return this.#top.count(area);
  }

  keys(area: IndexArea): AsyncIterable<readonly string[]> {
    return this.#top.keys(area);
  }

  entries(area: IndexArea) {
    return this.#top.entries(area);
  }

  async rebuild(): Promise<IndexReplay> {
    this.#layers = 1;
    return this.#top.rebuild();
  }

  async resume(from: IndexPosition): Promise<IndexReplay> {
    await this.#addLayer();
    return this.#top.resume(from);
  }

  async #addLayer(): Promise<void> {
    const at = await this.#top.position();
    if (at === null || this.#layers === MOST_LAYERS) return;
    this.#layers += 1;
    this.#top = new MemoryIndex({ name: 'layered', areas: this.#areas, base: { index: this.#top, at } });
  }
}

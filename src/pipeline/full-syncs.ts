import type { CollectionName } from '../model/collections.ts';

/** The running full syncs of a tenant. */
export class FullSyncs {
  readonly #underWay = new Set<{ readonly collection: CollectionName; readonly over: Promise<void> }>();

  async run<T>(collection: CollectionName, work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sync = { collection, over: promise };
    this.#underWay.add(sync);
    try {
      return await work();
    } finally {
      this.#underWay.delete(sync);
      resolve();
    }
  }

  /** Resolves when the full syncs of other collections that run now are over, or the signal aborts. Never rejects. A sync with
   * unusual losses waits so before it judges them. */
  async othersOver(collection: CollectionName, signal: AbortSignal): Promise<void> {
    const others = [...this.#underWay].filter((each) => each.collection !== collection);
    if (others.length === 0 || signal.aborted) return;
    const aborted = Promise.withResolvers<void>();
    const stop = (): void => aborted.resolve();
    signal.addEventListener('abort', stop, { once: true });
    await Promise.race([Promise.all(others.map(({ over }) => over)), aborted.promise]);
    signal.removeEventListener('abort', stop);
  }
}

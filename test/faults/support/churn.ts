import { createRandom } from '../../../reference-hub/random.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { recordHistory, type HubHistory, type Row } from '../../oracle/history.ts';

export const CHURNED = ['users', 'enrollments', 'results', 'absence-versions'];

/** Rows of these also change in ways that a living district does not know. */
const UNUSUAL = ['users', 'results'];

/** Of the rows of a collection; the guard of deletions holds half of a day, however long a fault takes. */
const MOST_REMOVED = 0.25;

/** A hub that changes by a seed, with the history of all its states. */
export class Churn {
  readonly history: HubHistory;
  readonly #hub: ReferenceHub;
  readonly #random: ReturnType<typeof createRandom>;
  readonly #removed = new Map<string, number>();
  /** Rows as they were before they were changed or left. */
  readonly #before: { readonly collection: string; readonly row: Row }[] = [];

  constructor(hub: ReferenceHub, options: { seed: number; collections: readonly string[] }) {
    this.#hub = hub;
    this.#random = createRandom(options.seed);
    this.history = recordHistory(hub, options.collections);
  }

  /** Makes changes at once: what happens in a living district, and for one of five, something unusual. */
  step(changes = 1): void {
    this.#hub.living.step(changes);
    for (let made = 0; made < changes; made += 5) this.#changeUnusually();
    this.history.note();
  }

  /** Makes some changes now and then, until it is disposed of. */
  live(): Disposable {
    const timer = setInterval(() => this.step(5), 200);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** A row leaves, changes unstamped, or is put back as it once was; now and then all rows are stamped again. */
  #changeUnusually(): void {
    const { district } = this.#hub;
    const collection = this.#random.pick(UNUSUAL);
    const ids = district.ids(collection);
    const id = this.#random.pick(ids);
    const row = district.get(collection, id);
    const kind = this.#random.below(20);
    if (kind === 0) district.restamp();
    else if (kind < 8) this.#putBack();
    else if (row !== undefined) {
      this.#before.push({ collection, row });
      const removed = this.#removed.get(collection) ?? 0;
      if (kind < 14 && removed < ids.length * MOST_REMOVED) {
        this.#removed.set(collection, removed + 1);
        district.remove(collection, id);
      } else
        district.patch(
          collection,
          id,
          { metadata: { changed: this.#random.below(1_000) } },
          { stamp: kind > 16 },
        );
    }
  }

  /** The hub stamps it. */
  #putBack(): void {
    const [back] = this.#before.splice(this.#random.below(this.#before.length || 1), 1);
    if (back === undefined) return;
    const { dateLastModified: _, ...content } = back.row;
    this.#hub.district.put(back.collection, content as never);
  }
}

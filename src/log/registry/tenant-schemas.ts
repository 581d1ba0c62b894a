import { STATE_TOPIC, type TopicSuffix } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import type { Registry } from './registry.ts';
import { schemaLost } from './registry-errors.ts';

/** The most lost ids that are remembered for each collection. */
const MOST_LOST = 8;

/** The registry's ids of a tenant's schemas. */
export class TenantSchemas {
  readonly #registry: Pick<Registry, 'isLost' | 'knows'>;
  readonly #ids = new Map<TopicSuffix, number>();

  constructor(registry: Pick<Registry, 'isLost' | 'knows'>) {
    this.#registry = registry;
  }

  /** Whether a topic's schema has an id that the registry has not lost since. */
  has(topic: TopicSuffix): boolean {
    const id = this.#ids.get(topic);
    return id !== undefined && !this.#registry.isLost(id, topic);
  }

  set(topic: TopicSuffix, id: number): void {
    this.#ids.set(topic, id);
  }

  /** Null for the changelog of the absence view, whose values have no schema and no frame. */
  readonly idOf = (topic: TopicSuffix): number | null => {
    if (topic === STATE_TOPIC) return null;
    const id = this.#ids.get(topic);
    if (id === undefined) throw new Error(`no schema was registered for ${topic}`);
    return id;
  };

  /** Throws `SCHEMA_LOST` when the registry has lost a schema in use: nobody could read what is written with it. */
  requireNoneLost(): void {
    const lost = [...this.#ids].filter(([topic, id]) => this.#registry.isLost(id, topic));
    if (lost.length > 0) throw schemaLost(lost.map(([topic]) => topic));
  }

  /** Returns the progress with the ids that records of the collection have, and that the registry has lost. */
  async noteLost(progress: Progress): Promise<Progress> {
    const { collection, schemaIds = [] } = progress;
    // A collection that is not mirrored now has no schema in use.
    const inUse = this.#ids.get(collection);
    if (inUse === undefined) return progress;
    const lost: number[] = [];
    for (const id of new Set(schemaIds))
      if (id !== inUse && !(await this.#registry.knows(id, collection))) lost.push(id);
    return { ...progress, schemaIds: [inUse, ...lost.slice(0, MOST_LOST)] };
  }
}

import { STATE_TOPIC, type TopicSuffix } from '../model/collections.ts';
import type { Registry } from './registry.ts';
import { schemaLost } from './registry-errors.ts';

/** The registry's ids of a tenant's schemas. */
export class TenantSchemas {
  readonly #registry: Pick<Registry, 'isLost'>;
  readonly #ids = new Map<TopicSuffix, number>();

  constructor(registry: Pick<Registry, 'isLost'>) {
    this.#registry = registry;
  }

  /** Whether a topic's schema has an id that the registry has not lost since. */
  has(topic: TopicSuffix): boolean {
    const id = this.#ids.get(topic);
    return id !== undefined && !this.#registry.isLost(id);
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
  requireHeld(): void {
    const lost = [...this.#ids].filter(([, id]) => this.#registry.isLost(id));
    if (lost.length > 0) throw schemaLost(lost.map(([topic]) => topic));
  }
}

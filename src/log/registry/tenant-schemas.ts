import type { AvroRecord } from '../../model/avro-schema.ts';
import { STATE_TOPIC, type TopicSuffix } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import type { WantedTopic } from '../topic-settings.ts';
import type { Registry } from './registry.ts';
import { schemaLost } from './registry-errors.ts';

/** How many lost ids are remembered for each collection, at most. */
const MOST_LOST = 8;

interface TenantSchemasOptions {
  readonly registry: Pick<Registry, 'register' | 'isLost' | 'knows'>;
  readonly topics: readonly Pick<WantedTopic, 'name' | 'suffix'>[];
  readonly files: ReadonlyMap<TopicSuffix, AvroRecord>;
}

export type TenantSchemas = ReturnType<typeof tenantSchemas>;

/** The schemas of a tenant's topics, and their ids in the registry. */
export function tenantSchemas({ registry, topics, files }: TenantSchemasOptions) {
  const ids = new Map<TopicSuffix, number>();
  return {
    /**
     * Registers each schema that has no id yet, or whose id the registry has lost. One after another: the tenants that open
     * at the same time use all connections to the registry. Throws `REGISTRY_…`, `SCHEMA_INCOMPATIBLE`.
     */
    async register(): Promise<void> {
      for (const { name, suffix } of topics) {
        if (suffix === STATE_TOPIC || (ids.has(suffix) && !registry.isLost(subjectOf(name)))) continue;
        const schema = files.get(suffix);
        if (schema === undefined) throw new Error(`there is no schema of ${suffix}`);
        ids.set(suffix, await registry.register(subjectOf(name), schema));
      }
    },

    /** Null for the changelog of the absence view, whose values have no schema and no frame. */
    idOf(topic: TopicSuffix): number | null {
      if (topic === STATE_TOPIC) return null;
      const id = ids.get(topic);
      if (id === undefined) throw new Error(`no schema was registered for ${topic}`);
      return id;
    },

    /** Throws `SCHEMA_LOST` when the registry has lost a schema in use: nobody could read what is written with it. */
    requireNoneLost(): void {
      const lost = topics.filter(({ name }) => registry.isLost(subjectOf(name)));
      if (lost.length > 0) throw schemaLost(lost.map(({ suffix }) => suffix));
    },

    /** Returns the progress with the ids that records of the collection have, and that the registry has lost. */
    async noteLost(progress: Progress): Promise<Progress> {
      const { collection, schemaIds = [] } = progress;
      // A collection that is not mirrored now has no schema in use.
      const inUse = ids.get(collection);
      if (inUse === undefined) return progress;
      const lost: number[] = [];
      for (const id of new Set(schemaIds))
        if (id !== inUse && !(await registry.knows(id, collection))) lost.push(id);
      return { ...progress, schemaIds: [inUse, ...lost.slice(0, MOST_LOST)] };
    },
  };
}

function subjectOf(topic: string): string {
  return `${topic}-value`;
}

import type { ReferenceHub } from '../src/reference-hub/start-reference-hub.ts';
import { differences } from '../test/integration/support/hub-oracle.ts';
import {
  compactedView,
  readTopicsAt,
  type Servers,
  type TopicRecord,
} from '../test/integration/support/read-topics.ts';

export interface ComparedTopic {
  readonly collection: string;
  /** Records ever published and not yet compacted away. */
  readonly records: number;
  /** Keys that have a value. */
  readonly rows: number;
  /** What tells the topic from the hub, a line a key; at most a few. */
  readonly differences: readonly string[];
}

const HOLDS_NO_COLLECTION = new Set(['rejects', 'progress']);

/** Reads all topics from the beginning, as a consumer that knows only the contract, and holds them against the hub. */
export async function compareWithHub(options: {
  servers: Servers;
  hub: ReferenceHub;
  topics: readonly string[];
}): Promise<ComparedTopic[]> {
  const byTopic = Map.groupBy(await readTopicsAt(options.servers, options.topics), ({ topic }) => topic);
  return options.topics.map((topic) => {
    const collection = topic.slice(topic.lastIndexOf('.') + 1);
    const records = byTopic.get(topic) ?? [];
    return {
      collection,
      records: records.length,
      rows: compactedView(records).size,
      differences: HOLDS_NO_COLLECTION.has(collection) ? [] : differencesOf(options.hub, collection, records),
    };
  });
}

function differencesOf(hub: ReferenceHub, collection: string, records: readonly TopicRecord[]): string[] {
  return differences({ hub, collection, records, afterschoolIds: hub.district.afterschoolIds() });
}

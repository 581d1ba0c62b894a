import kafkajs, { type Admin } from 'kafkajs';
import type { CompactionSettings } from '../core/segment-rolls.ts';
import { kafkaError } from './kafka-errors.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes } = kafkajs;

/** What the brokers have set for topics, by name. Throws `KAFKA_…`. */
export async function fetchCompactionSettings(
  admin: Admin,
  topics: readonly string[],
): Promise<ReadonlyMap<string, CompactionSettings>> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({ type: ConfigResourceTypes.TOPIC, name })),
    });
    return new Map(
      resources.map(({ resourceName, configEntries }) => {
        const values = new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]));
        const settings = {
          segmentMs: numberOf(values.get('segment.ms')),
          maxCompactionLagMs: numberOf(values.get('max.compaction.lag.ms')),
          deleteRetentionMs: numberOf(values.get('delete.retention.ms')),
        };
        return [resourceName, settings];
      }),
    );
  } catch (error) {
    throw kafkaError(error, 'reading the settings of topics');
  }
}

/** A day where a broker says nothing: the contract allows no longer one. */
function numberOf(value: string | undefined): number {
  const number = Number(value);
  return value === undefined || Number.isNaN(number) ? 24 * 3_600_000 : number;
}

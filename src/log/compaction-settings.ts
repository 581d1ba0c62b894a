import kafkajs, { type Admin } from 'kafkajs';
import type { CompactionSettings } from '../core/segment-rolls.ts';
import { kafkaError } from './kafka-errors.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes } = kafkajs;

/** Returns the brokers' compaction settings of topics, by topic name. Throws `KAFKA_…`. */
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

/** Returns a day if a broker reports no value: the contract allows no longer time. */
function numberOf(value: string | undefined): number {
  const number = Number(value);
  return value === undefined || Number.isNaN(number) ? 24 * 3_600_000 : number;
}

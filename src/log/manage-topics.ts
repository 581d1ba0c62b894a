import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { RollcallError } from '../errors.ts';
import { topicName } from '../model/topic-names.ts';
import { topicsBegunWith, type TopicSuffix } from '../model/collections.ts';
import { kafkaError } from './kafka-errors.ts';
import { fetchOffsets } from './topic-offsets.ts';
import { partitionCount, settingSatisfied, topicSettings } from './topic-settings.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes, ConfigSource } = kafkajs;

const ATTEMPTS_FOR_NEW_TOPIC = 50;
const BETWEEN_ATTEMPTS_MS = 100;

export interface WantedTopic {
  readonly name: string;
  readonly tenantId: string;
  readonly suffix: TopicSuffix;
  readonly partitions: number;
  readonly replicationFactor: number;
}

/** A topic compared with the contract. */
export interface TopicFinding {
  readonly topic: WantedTopic;
  readonly exists: boolean;
  readonly partitions: number | null;
  /** Each as a text with the wanted value: `segment.ms is 604800000, should be at most 86400000`. */
  readonly differences: readonly string[];
  /** Whether `alterConfigs` can fix the differences; it cannot change a partition count. */
  readonly curable: boolean;
}

export function wantedTopics(options: {
  topicPrefix: string;
  tenantId: string;
  suffixes: readonly TopicSuffix[];
  partitionsOf: (suffix: TopicSuffix) => number;
  replicationFactor: number;
}): WantedTopic[] {
  return options.suffixes.map((suffix) => ({
    name: topicName(options, suffix),
    tenantId: options.tenantId,
    suffix,
    partitions: partitionCount(suffix, options.partitionsOf(suffix)),
    replicationFactor: options.replicationFactor,
  }));
}

/** Compares topics with the contract. Throws `KAFKA_…`. */
export async function inspectTopics(admin: Admin, wanted: readonly WantedTopic[]): Promise<TopicFinding[]> {
  try {
    const existing = new Set(await admin.listTopics());
    const present = wanted.filter(({ name }) => existing.has(name));
    const partitionsByTopic = new Map<string, number>();
    const settingsByTopic = new Map<string, Map<string, string>>();
    if (present.length > 0) {
      const { topics } = await admin.fetchTopicMetadata({ topics: present.map(({ name }) => name) });
      for (const { name, partitions } of topics) partitionsByTopic.set(name, partitions.length);
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: present.map(({ name }) => ({ type: ConfigResourceTypes.TOPIC, name })),
      });
      for (const { resourceName, configEntries } of resources) {
        settingsByTopic.set(
          resourceName,
          new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
        );
      }
    }
    return wanted.map((topic) =>
      compare(topic, partitionsByTopic.get(topic.name) ?? null, settingsByTopic.get(topic.name)),
    );
  } catch (error) {
    throw kafkaError(error, 'comparing topics with the contract');
  }
}

const BOUND_WORDS = {
  equal: 'should be',
  'at-least': 'should be at least',
  'at-most': 'should be at most',
} as const;

function compare(
  topic: WantedTopic,
  partitions: number | null,
  actual: ReadonlyMap<string, string> | undefined,
): TopicFinding {
  if (partitions === null) return { topic, exists: false, partitions, differences: [], curable: true };
  const differences = topicSettings(topic.suffix)
    .filter((setting) => !settingSatisfied(setting, actual?.get(setting.name)))
    .map(
      (setting) =>
        `${setting.name} is ${actual?.get(setting.name) ?? 'unknown'}, ${BOUND_WORDS[setting.bound]} ${setting.value}`,
    );
  const curable = partitions === topic.partitions;
  if (!curable)
    differences.push(`it has ${partitions} partitions, the configuration says ${topic.partitions}`);
  return { topic, exists: true, partitions, differences, curable };
}

/** Creates missing topics with the contract's settings. Throws `KAFKA_…`. */
export async function createMissingTopics(admin: Admin, findings: readonly TopicFinding[]): Promise<void> {
  const missing = findings.filter(({ exists }) => !exists);
  if (missing.length === 0) return;
  try {
    await admin.createTopics({
      // kafkajs would fail at a broker that does not know the topic yet, as happens right after its creation.
      waitForLeaders: false,
      topics: missing.map(({ topic }) => ({
        topic: topic.name,
        numPartitions: topic.partitions,
        replicationFactor: topic.replicationFactor,
        configEntries: topicSettings(topic.suffix).map(({ name, value }) => ({ name, value })),
      })),
    });
    for (const { topic } of missing) await waitUntilLed(admin, topic.name);
  } catch (error) {
    throw kafkaError(error, `creating topics (${missing.map(({ topic }) => topic.name).join(', ')})`);
  }
}

/** Waits until the brokers lead a new topic: before that, they report it as missing. */
async function waitUntilLed(admin: Admin, topic: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await fetchOffsets(admin, topic);
      return;
    } catch (error) {
      const isUnknown = error instanceof RollcallError && error.code === 'KAFKA_TOPIC_MISSING';
      if (!isUnknown || attempt === ATTEMPTS_FOR_NEW_TOPIC) throw error;
      await delay(BETWEEN_ATTEMPTS_MS);
    }
  }
}

/**
 * Corrects differing settings and keeps a topic's other ones: the protocol's AlterConfigs replaces all of a topic's
 * settings, so this reads those that are set on the topic itself and sends them along.
 */
export async function cureTopics(admin: Admin, findings: readonly TopicFinding[]): Promise<void> {
  const curable = findings.filter(
    ({ exists, differences, curable }) => exists && curable && differences.length > 0,
  );
  for (const { topic } of curable) {
    try {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic.name }],
      });
      const entries = new Map(
        (resources[0]?.configEntries ?? [])
          .filter(({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG)
          .map(({ configName, configValue }) => [configName, configValue]),
      );
      for (const setting of topicSettings(topic.suffix)) {
        if (!settingSatisfied(setting, entries.get(setting.name))) entries.set(setting.name, setting.value);
      }
      await admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: ConfigResourceTypes.TOPIC,
            name: topic.name,
            configEntries: [...entries].map(([name, value]) => ({ name, value })),
          },
        ],
      });
    } catch (error) {
      throw kafkaError(error, `altering ${topic.name}`);
    }
  }
}

/** Returns the error that lists every difference; null when there is none. */
export function topicMismatch(findings: readonly TopicFinding[]): RollcallError | null {
  const wrong = findings.filter(({ differences }) => differences.length > 0);
  if (wrong.length === 0) return null;
  const list = wrong.flatMap(({ topic, differences }) =>
    differences.map((each) => `  ${topic.name}: ${each}`),
  );
  return new RollcallError('KAFKA_TOPIC_MISMATCH', `Topics differ from the contract:\n${list.join('\n')}`, {
    remedy: remedyOf(wrong),
  });
}

function remedyOf(wrong: readonly TopicFinding[]): string {
  const recounted = wrong.filter(({ curable }) => !curable);
  const remedies =
    recounted.length < wrong.length
      ? ['Correct the settings with "rollcall topics apply", or with kafka-configs.']
      : [];
  const tenants = Map.groupBy(recounted, ({ topic }) => topic.tenantId);
  const commands = [...tenants].map(([tenantId, findings]) => {
    const names = new Set(findings.map(({ topic }) => topicsBegunWith(topic.suffix)[0]));
    return `"rollcall topics recreate ${[...names].join(' ')} --tenant ${tenantId} --yes"`;
  });
  if (commands.length > 0)
    remedies.push(
      `With another number of partitions, keys would change their partition. If kafka.partitions was changed, set it back. If a topic was changed, stop the process, give ${commands.join(' and ')}, and start it: it publishes everything of these topics again (docs/consuming.md says what that means for consumers).`,
    );
  return remedies.join(' ');
}

import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type ConfigEntries, type DescribeConfigResponse } from 'kafkajs';
import type { ContractTopic } from '../core/contract/asyncapi.ts';
import { RollcallError } from '../errors.ts';
import { topicsBegunWith, type TopicSuffix } from '../model/collections.ts';
import { request, typeOf, wholeRequest } from './wire/kafka-broker.ts';
import type { KafkaConnections, LedPartition } from './wire/kafka-connections.ts';
import { kafkaError } from './kafka-errors.ts';
import { fetchOffsets } from './topic-offsets.ts';
import { RequestFailure } from './transaction-brokers.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes, ConfigSource } = kafkajs;

const DAY_MS = 24 * 3_600_000;
/** How long a change may take, because the controller may be busy. */
const CHANGED_WITHIN_MS = 5_000;

/** How an existing topic's setting is compared with the wanted one. */
type Bound = 'exactly' | 'at least' | 'at most';

export interface TopicSetting {
  readonly name: string;
  readonly value: string;
  readonly bound: Bound;
}

/**
 * Returns the wanted settings of a topic (contract, "Topic settings").
 *
 * A consumer that bootstraps must reach the end within `delete.retention.ms`, or it may miss a removal.
 * `segment.ms` and `max.compaction.lag.ms` bound how long an erased value stays readable.
 */
export function topicSettings(suffix: TopicSuffix): readonly TopicSetting[] {
  const keepsHistory = suffix === 'absence-changes';
  return [
    { name: 'cleanup.policy', value: 'compact', bound: 'exactly' },
    { name: 'delete.retention.ms', value: String(7 * DAY_MS), bound: 'at least' },
    { name: 'segment.ms', value: String(DAY_MS), bound: 'at most' },
    { name: 'max.compaction.lag.ms', value: String(keepsHistory ? 8 * DAY_MS : DAY_MS), bound: 'at most' },
    ...(keepsHistory
      ? [{ name: 'min.compaction.lag.ms', value: String(7 * DAY_MS), bound: 'at least' } as const]
      : []),
  ];
}

/** Whether a setting that a broker reports satisfies the wanted one. */
export function settingSatisfied({ bound, value }: TopicSetting, actual: string | undefined): boolean {
  if (actual === undefined || bound === 'exactly') return actual === value;
  return bound === 'at least' ? BigInt(actual) >= BigInt(value) : BigInt(actual) <= BigInt(value);
}

/** A topic that the configuration wants. Its settings follow from its suffix. */
export type WantedTopic = Omit<ContractTopic, 'settings' | 'schema'>;

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

/** The topic of the events (`absence-changes`) has all of these settings. */
const CONTRACT_SETTINGS = topicSettings('absence-changes').map(({ name }) => name);

/** Returns settings of topics by name: those of the contract, or all that are set on the topic itself. Throws `KAFKA_…`. */
export async function describeSettings(
  kafka: Pick<KafkaConnections, 'askAny'>,
  topics: readonly string[],
  { onlyOwn = false } = {},
): Promise<ReadonlyMap<string, Map<string, string>>> {
  if (topics.length === 0) return new Map();
  try {
    const { resources } = await kafka.askAny<DescribeConfigResponse>(
      request('DescribeConfigs', {
        resources: topics.map((name) => ({
          type: ConfigResourceTypes.TOPIC,
          name,
          // A topic has about forty settings; an empty list asks for all of them.
          configNames: onlyOwn ? [] : CONTRACT_SETTINGS,
        })),
      }),
    );
    const isWanted = ({ configSource }: ConfigEntries): boolean =>
      !onlyOwn || configSource === ConfigSource.TOPIC_CONFIG;
    return new Map(
      resources.map(({ resourceName, configEntries }) => {
        const entries = configEntries.filter(isWanted);
        return [
          resourceName,
          new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
        ];
      }),
    );
  } catch (error) {
    throw kafkaError(error, 'reading the settings of topics');
  }
}

const BROKERS_AGREE_WITHIN_MS = 10_000;
const BETWEEN_ATTEMPTS_MS = 100;

/**
 * Compares topics with the contract. Throws `KAFKA_…`.
 *
 * Each request may go to another broker. Directly after a topic was created or deleted, one broker may know this while
 * another does not. In this case, the brokers are asked again.
 */
export async function inspectTopics(
  kafka: Pick<KafkaConnections, 'askAny' | 'partitionsOf'>,
  wanted: readonly WantedTopic[],
): Promise<TopicFinding[]> {
  const names = wanted.map(({ name }) => name);
  const untilMs = performance.now() + BROKERS_AGREE_WITHIN_MS;
  for (;;) {
    try {
      const led = await kafka.partitionsOf(names, { skipsMissing: true });
      const existing = Map.groupBy(led, ({ topic }) => topic);
      const settings = await describeSettings(kafka, [...existing.keys()]);
      return wanted.map((topic) =>
        compare(topic, existing.get(topic.name) ?? null, settings.get(topic.name)),
      );
    } catch (error) {
      const failure = kafkaError(error, 'comparing topics with the contract');
      if (failure.code !== 'KAFKA_TOPIC_MISSING' || performance.now() > untilMs) throw failure;
      await delay(BETWEEN_ATTEMPTS_MS);
    }
  }
}

function compare(
  topic: WantedTopic,
  led: readonly LedPartition[] | null,
  actual: ReadonlyMap<string, string> | undefined,
): TopicFinding {
  if (led === null) return { topic, exists: false, partitions: null, differences: [], curable: true };
  const partitions = led.length;
  const differences = topicSettings(topic.suffix)
    .filter((setting) => !settingSatisfied(setting, actual?.get(setting.name)))
    .map(
      ({ name, bound, value }) => `${name} is ${actual?.get(name) ?? 'unknown'}, should be ${bound} ${value}`,
    );
  const curable = partitions === topic.partitions;
  if (!curable)
    differences.push(`it has ${partitions} partitions, but the configuration says ${topic.partitions}`);
  return { topic, exists: true, partitions, differences, curable };
}

/** Creates missing topics with the settings of the contract, or only asks whether it may. Throws `KAFKA_…`. */
export async function createMissingTopics(
  kafka: KafkaConnections,
  findings: readonly Pick<TopicFinding, 'topic' | 'exists'>[],
  { validateOnly = false } = {},
): Promise<void> {
  const missing = findings.filter(({ exists }) => !exists);
  const names = missing.map(({ topic }) => topic.name);
  if (missing.length === 0) return;
  try {
    const creation = wholeRequest('CreateTopics', {
      validateOnly,
      timeout: CHANGED_WITHIN_MS,
      topics: missing.map(({ topic }) => ({
        topic: topic.name,
        numPartitions: topic.partitions,
        replicationFactor: topic.replicationFactor,
        configEntries: topicSettings(topic.suffix).map(({ name, value }) => ({ name, value })),
      })),
    });
    const { topicErrors } = await kafka.askController<{
      readonly topicErrors: readonly { readonly topic: string; readonly errorCode: number }[];
    }>(creation, names);
    for (const { topic, errorCode } of topicErrors) {
      const type = typeOf(errorCode);
      if (type !== null && type !== 'TOPIC_ALREADY_EXISTS')
        throw new RequestFailure('refused', { type, topic });
    }
    // Before the brokers lead a new topic, they report it as missing.
    if (!validateOnly) await fetchOffsets(kafka, names, 'awaited');
  } catch (error) {
    throw kafkaError(error, `creating topics (${names.join(', ')})`);
  }
}

/** Deletes a topic; brokers may still list it for a moment. Throws `KAFKA_…`. */
export async function deleteTopic(
  kafka: Pick<KafkaConnections, 'askController'>,
  name: string,
): Promise<void> {
  try {
    const deletion = request('DeleteTopics', { topics: [name], timeout: CHANGED_WITHIN_MS });
    await kafka.askController(deletion, [name]);
  } catch (error) {
    throw kafkaError(error, `deleting ${name}`);
  }
}

/**
 * Corrects settings that differ, and keeps the other settings of a topic. AlterConfigs replaces all settings of a
 * topic, so this first reads the settings that are set on the topic itself, and sends them along.
 */
export async function cureTopics(kafka: KafkaConnections, findings: readonly TopicFinding[]): Promise<void> {
  const curable = findings.filter(
    ({ exists, differences, curable }) => exists && curable && differences.length > 0,
  );
  for (const { topic } of curable) {
    const own = await describeSettings(kafka, [topic.name], { onlyOwn: true });
    const entries = new Map(own.get(topic.name));
    for (const setting of topicSettings(topic.suffix))
      if (!settingSatisfied(setting, entries.get(setting.name))) entries.set(setting.name, setting.value);
    const configEntries = [...entries].map(([name, value]) => ({ name, value }));
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic.name, configEntries };
    const alteration = request('AlterConfigs', { validateOnly: false, resources: [resource] });
    await kafka.askController(alteration, [topic.name]).catch((error: unknown) => {
      throw kafkaError(error, `altering ${topic.name}`);
    });
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
      `With another number of partitions, keys would move to other partitions. If somebody changed kafka.partitions, set it back. If somebody changed a topic, stop all processes, run ${commands.join(' and ')}, and start them again: Rollcall then publishes everything in these topics again (rollcall help consuming says what that means for consumers).`,
    );
  return remedies.join(' ');
}

import { expect, it, vi } from 'vitest';
import type { KafkaConnections } from '../../../src/log/wire/kafka-connections.ts';
import { inspectTopics, settingSatisfied, topicSettings } from '../../../src/log/topic-settings.ts';
import { RequestFailure } from '../../../src/log/transaction-brokers.ts';
import { questionsOf } from './support/simulated-topics.ts';

const DAY_MS = 86_400_000;

const valuesOf = (suffix: Parameters<typeof topicSettings>[0]) =>
  Object.fromEntries(topicSettings(suffix).map(({ name, value }) => [name, value]));

it('a topic has every setting of the contract, and the events of absences are not compacted for a week', () => {
  const settings = {
    'cleanup.policy': 'compact',
    'delete.retention.ms': String(7 * DAY_MS),
    'segment.ms': String(DAY_MS),
    'max.compaction.lag.ms': String(DAY_MS),
  };
  expect(valuesOf('users')).toEqual(settings);
  const ofEvents = {
    'min.compaction.lag.ms': String(7 * DAY_MS),
    'max.compaction.lag.ms': String(8 * DAY_MS),
  };
  expect(valuesOf('absence-changes')).toMatchObject(ofEvents);
});

it.each([
  ['cleanup.policy', 'compact', true],
  ['cleanup.policy', 'compact,delete', false],
  ['delete.retention.ms', String(7 * DAY_MS), true],
  ['delete.retention.ms', String(30 * DAY_MS), true],
  ['delete.retention.ms', String(7 * DAY_MS - 1), false],
  ['segment.ms', String(DAY_MS), true],
  ['segment.ms', '1000', true],
  ['segment.ms', String(DAY_MS + 1), false],
  ['max.compaction.lag.ms', '9223372036854775807', false],
  ['segment.ms', undefined, false],
])('the setting %s with the value %s fits the contract: %s', (name, actual, satisfied) => {
  const setting = topicSettings('users').find((each) => each.name === name);
  if (setting === undefined) throw new Error(`no setting ${name}`);
  expect(settingSatisfied(setting, actual)).toBe(satisfied);
});

it('the settings of a topic that a broker does not know yet are checked once it knows the topic', async () => {
  const name = 'p.north.users';
  const topics = [{ name, tenantId: 'north', suffix: 'users', partitions: 1, replicationFactor: 3 }] as const;
  const configEntries = topicSettings('users').map((each) => ({
    configName: each.name,
    configValue: each.value,
  }));
  const type = 'UNKNOWN_TOPIC_OR_PARTITION';
  const askAny = vi.fn<() => Promise<object>>(async () => ({
    resources: [{ resourceName: name, configEntries }],
  }));
  askAny.mockRejectedValueOnce(new RequestFailure('refused', { type }));
  const { partitionsOf } = questionsOf(new Set([name]), () => Promise.resolve());
  const findings = await inspectTopics(
    { askAny: askAny as KafkaConnections['askAny'], partitionsOf },
    topics,
  );
  expect(findings).toMatchObject([{ exists: true, differences: [] }]);
});

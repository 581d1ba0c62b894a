import type { TopicSuffix } from '../model/collections.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How an existing topic's setting is compared with the wanted one. */
type Bound = 'equal' | 'at-least' | 'at-most';

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
  const settings: TopicSetting[] = [
    { name: 'cleanup.policy', value: 'compact', bound: 'equal' },
    { name: 'delete.retention.ms', value: String(7 * DAY_MS), bound: 'at-least' },
    { name: 'segment.ms', value: String(24 * HOUR_MS), bound: 'at-most' },
    {
      name: 'max.compaction.lag.ms',
      value: String(keepsHistory ? 8 * DAY_MS : 24 * HOUR_MS),
      bound: 'at-most',
    },
  ];
  if (keepsHistory) {
    settings.push({ name: 'min.compaction.lag.ms', value: String(7 * DAY_MS), bound: 'at-least' });
  }
  return settings;
}

/** Returns one partition for `progress`, which is read in order (contract), and the configured count for other topics. */
export function partitionCount(suffix: TopicSuffix, configured: number): number {
  return suffix === 'progress' ? 1 : configured;
}

/** Whether a setting that a broker reports satisfies the wanted one. */
export function settingSatisfied(setting: TopicSetting, actual: string | undefined): boolean {
  if (actual === undefined) return false;
  switch (setting.bound) {
    case 'equal':
      return actual === setting.value;
    case 'at-least':
      return BigInt(actual) >= BigInt(setting.value);
    case 'at-most':
      return BigInt(actual) <= BigInt(setting.value);
  }
}

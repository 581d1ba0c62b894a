import type { TopicSuffix } from '../model/collections.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How an existing topic's setting is held against the wanted one. */
type Bound = 'equal' | 'at-least' | 'at-most';

export interface TopicSetting {
  readonly name: string;
  readonly value: string;
  readonly bound: Bound;
}

/**
 * The settings of a topic (contract, "Topic settings").
 *
 * A consumer that bootstraps has `delete.retention.ms` to read to the end before it could miss a removal;
 * `segment.ms` and `max.compaction.lag.ms` bound how long an erased value can still be read.
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

/** `progress` is read whole and in order: one partition (contract). Others as configured. */
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

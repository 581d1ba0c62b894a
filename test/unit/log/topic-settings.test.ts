import { describe, expect, it } from 'vitest';
import { settingSatisfied, topicSettings } from '../../../src/log/topic-settings.ts';

const DAY_MS = 86_400_000;

function valuesOf(suffix: Parameters<typeof topicSettings>[0]): Record<string, string> {
  return Object.fromEntries(topicSettings(suffix).map(({ name, value }) => [name, value]));
}

describe('topicSettings', () => {
  it('has every setting of the contract', () => {
    expect(valuesOf('users')).toEqual({
      'cleanup.policy': 'compact',
      'delete.retention.ms': String(7 * DAY_MS),
      'segment.ms': String(DAY_MS),
      'max.compaction.lag.ms': String(DAY_MS),
    });
  });

  it('keeps the events of absences from compaction for a week, with a maximum above the minimum', () => {
    const values = valuesOf('absence-changes');
    expect(values['min.compaction.lag.ms']).toBe(String(7 * DAY_MS));
    expect(values['max.compaction.lag.ms']).toBe(String(8 * DAY_MS));
  });
});

describe('settingSatisfied', () => {
  const settings = new Map(topicSettings('users').map((setting) => [setting.name, setting]));
  const isSatisfied = (name: string, actual: string | undefined) => {
    const setting = settings.get(name);
    if (setting === undefined) throw new Error(`no setting ${name}`);
    return settingSatisfied(setting, actual);
  };

  it.each([
    ['cleanup.policy', 'compact', true],
    ['cleanup.policy', 'compact,delete', false],
    ['cleanup.policy', 'delete', false],
    ['delete.retention.ms', String(7 * DAY_MS), true],
    ['delete.retention.ms', String(30 * DAY_MS), true],
    ['delete.retention.ms', String(7 * DAY_MS - 1), false],
    ['segment.ms', String(DAY_MS), true],
    ['segment.ms', '1000', true],
    ['segment.ms', String(DAY_MS + 1), false],
    ['max.compaction.lag.ms', '9223372036854775807', false],
    ['segment.ms', undefined, false],
  ])('%s of %s: %s', (name, actual, satisfied) => {
    expect(isSatisfied(name, actual)).toBe(satisfied);
  });
});

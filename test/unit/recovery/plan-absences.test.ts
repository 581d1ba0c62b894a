import { describe, expect, test } from 'vitest';
import type { DerivedCollection } from '../../../src/model/collections.ts';
import { STATE_COMPLETE, type Progress } from '../../../src/model/progress.ts';
import { absenceSource, absencesLost, type AbsenceFacts } from '../../../src/recovery/plan-recovery.ts';
import type { IndexPosition } from '../../../src/state/index-store.ts';

const progress = { transactionId: 't9', absenceState: STATE_COMPLETE } as Progress;
const current = { transactionId: 't9' } as IndexPosition;
const behind = { transactionId: 't8' } as IndexPosition;
const derived = new Map<DerivedCollection, Progress | null>([
  ['absences', progress],
  ['absence-changes', progress],
]);
const never = new Map<DerivedCollection, Progress | null>([
  ['absences', null],
  ['absence-changes', null],
]);

function sourceOf(facts: Partial<AbsenceFacts>) {
  return absenceSource({
    progress,
    derived,
    position: current,
    hasLostTopics: false,
    hasLostAll: false,
    hasLostChangelog: false,
    hasEvents: true,
    hasChangelog: true,
    ...facts,
  });
}

describe('the index of absences', () => {
  test('is copied from its changelog, also where Redis is lost', () => {
    expect(sourceOf({})).toBe('changelog');
    expect(sourceOf({ position: null })).toBe('changelog');
  });

  test('fills a lost changelog while Redis is current', () => {
    expect(sourceOf({ hasLostChangelog: true })).toBe('index');
    expect(sourceOf({ progress: { ...progress, absenceState: undefined } })).toBe('index');
  });

  test('is lost with both, and with either of the topics that it continues', () => {
    expect(sourceOf({ hasLostChangelog: true, position: behind })).toBe('lost');
    expect(sourceOf({ hasLostChangelog: true, position: null })).toBe('lost');
    expect(sourceOf({ hasLostTopics: true })).toBe('lost');
  });

  test('begins with nothing where all topics of absences were recreated together', () => {
    const all = { hasLostTopics: true, hasLostAll: true, hasLostChangelog: true };
    expect(sourceOf({ ...all, hasEvents: false, hasChangelog: false })).toBe('nothing');
    expect(sourceOf(all)).toBe('lost');
  });

  test('begins with nothing where absences were never mirrored', () => {
    expect(sourceOf({ derived: never, hasChangelog: false })).toBe('nothing');
    expect(sourceOf({ progress: null, hasEvents: false, hasChangelog: false })).toBe('nothing');
    expect(sourceOf({ derived: never })).toBe('lost');
    expect(sourceOf({ progress: null, hasEvents: false })).toBe('lost');
  });

  test('is copied where only `progress` is lost', () => {
    expect(sourceOf({ progress: null })).toBe('changelog');
    expect(sourceOf({ progress: null, hasChangelog: false })).toBe('lost');
  });
});

test('lost absences need a decision, and the error names the command for it', () => {
  const error = absencesLost('north');
  expect(error.reaction).toBe('person');
  expect(error.remedy).toContain('rollcall state rebuild --tenant north --collection absences --anew --yes');
});

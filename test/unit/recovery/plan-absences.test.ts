import { expect, test } from 'vitest';
import type { DerivedCollection } from '../../../src/model/collections.ts';
import { STATE_COMPLETE, type Progress } from '../../../src/model/progress.ts';
import { absenceSource, absencesLost, type AbsenceFacts } from '../../../src/recovery/plan-recovery.ts';
import type { IndexPosition } from '../../../src/state/index-store.ts';

const progress = { transactionId: 't9', absenceState: STATE_COMPLETE } as Progress;
const current = { transactionId: 't9' } as IndexPosition;
const behind = { transactionId: 't8' } as IndexPosition;
const derivedOf = (each: Progress | null) =>
  new Map<DerivedCollection, Progress | null>([
    ['absences', each],
    ['absence-changes', each],
  ]);

const nothingLost = { hasLostTopics: false, hasLostAll: false, hasLostChangelog: false };
const filled = { hasEvents: true, hasChangelog: true };
const own = { progress, derived: derivedOf(progress), position: current };
const GIVEN: AbsenceFacts = { ...own, ...nothingLost, ...filled };
const all = { hasLostTopics: true, hasLostAll: true, hasLostChangelog: true };
const never = { derived: derivedOf(null) };

test.each<[string, Partial<AbsenceFacts>, string]>([
  ['nothing is lost', {}, 'changelog'],
  ['Redis is lost', { position: null }, 'changelog'],
  ['the changelog is lost while Redis is current', { hasLostChangelog: true }, 'index'],
  ['the changelog is not complete yet', { progress: { ...progress, absenceState: undefined } }, 'index'],
  ['the changelog is lost and Redis behind', { hasLostChangelog: true, position: behind }, 'lost'],
  ['both are lost', { hasLostChangelog: true, position: null }, 'lost'],
  ['a topic that it continues is lost', { hasLostTopics: true }, 'lost'],
  ['all topics were recreated together', { ...all, hasEvents: false, hasChangelog: false }, 'nothing'],
  ['all topics lost their records', all, 'lost'],
  ['absences were never mirrored', { ...never, hasChangelog: false }, 'nothing'],
  ['there is nothing at all', { progress: null, hasEvents: false, hasChangelog: false }, 'nothing'],
  ['derived topics have no progress', never, 'lost'],
  ['`progress` and the events are lost', { progress: null, hasEvents: false }, 'lost'],
  ['only `progress` is lost', { progress: null }, 'changelog'],
  ['`progress` and the changelog are lost', { progress: null, hasChangelog: false }, 'lost'],
])(
  'where %s, the index of absences comes from it, from nothing, or is lost: %o: %s',
  (_name, facts, source) => {
    expect(absenceSource({ ...GIVEN, ...facts })).toBe(source);
  },
);

test('lost absences need a decision, and the error names the command for it', () => {
  const error = absencesLost('north');
  expect(error.reaction).toBe('person');
  expect(error.remedy).toContain('rollcall state rebuild --tenant north --collection absences --reset --yes');
});

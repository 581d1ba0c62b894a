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

const nothingLost = { hasLostTopics: false, hasLostChangelog: false };
const filled = { hasAbsences: true, hasEvents: true, hasChangelog: true };
const own = { progress, derived: derivedOf(progress), position: current };
const GIVEN: AbsenceFacts = { ...own, ...nothingLost, ...filled };
const all = { hasLostTopics: true, hasLostChangelog: true };
const empty = { hasAbsences: false, hasEvents: false, hasChangelog: false };
const never = { derived: derivedOf(null) };

test.each<[string, string, Partial<AbsenceFacts>]>([
  ['nothing is lost', 'changelog', {}],
  ['Redis is lost', 'changelog', { position: null }],
  ['the changelog is lost while Redis is current', 'index', { hasLostChangelog: true }],
  ['the changelog is not complete yet', 'index', { progress: { ...progress, absenceState: undefined } }],
  ['the changelog is lost and Redis behind', 'lost', { hasLostChangelog: true, position: behind }],
  ['both are lost', 'lost', { hasLostChangelog: true, position: null }],
  ['a topic that it continues is lost', 'lost', { hasLostTopics: true }],
  ['all topics were recreated together', 'nothing', { ...all, ...empty }],
  ['all topics lost some of their records', 'lost', all],
  ['only the records of `absences` are left', 'lost', { ...all, ...empty, hasAbsences: true }],
  ['only the changelog is left', 'lost', { ...all, ...empty, hasLostChangelog: false, hasChangelog: true }],
  ['absences were never mirrored', 'nothing', { ...never, hasChangelog: false }],
  ['there is nothing at all', 'nothing', { progress: null, ...empty }],
  ['derived topics have no progress', 'lost', never],
  ['`progress` and the events are lost', 'lost', { progress: null, hasEvents: false }],
  ['only `progress` is lost', 'changelog', { progress: null }],
  ['`progress` and the changelog are lost', 'lost', { progress: null, hasChangelog: false }],
])('if %s, the index of absences comes from: %s', (_name, source, facts) => {
  expect(absenceSource({ ...GIVEN, ...facts })).toBe(source);
});

test('lost absences need a decision, and the error names the command for it', () => {
  const error = absencesLost('north');
  expect(error.reaction).toBe('person');
  expect(error.remedy).toContain('rollcall topics recreate absences --tenant north --yes');
});

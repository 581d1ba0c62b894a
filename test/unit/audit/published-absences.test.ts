import { describe, expect, it } from 'vitest';
import { PublishedAbsences } from '../../../src/audit/published-absences.ts';
import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';

function version(sourcedId: string, student: string | null): AbsenceVersionValue {
  return { sourcedId, student: student === null ? null : { sourcedId: student } };
}

function event(step: number, student: string | null, snapshot = false): AbsenceChangeValue {
  return {
    absenceId: 'a',
    step,
    operation: step === 1 ? 'CREATED' : 'REPLACED',
    version: version(`v${step}`, student),
    snapshot,
    ...({ previousVersion: null, cause: 'HUB', mergedInto: null, detectedAt: 0 } as const),
  };
}

/** The kinds of problems after these events of one absence; null: the key was nulled. */
function problemsAfter(...events: (AbsenceChangeValue | 'unreadable' | null)[]): readonly string[] {
  const published = new PublishedAbsences();
  for (const each of events)
    if (each === null) published.forget('absence-changes', 'a');
    else published.takeEvent('a', each === 'unreadable' ? null : each, null);
  return published.problems().map(({ kind }) => kind);
}

const [other, none, again, news] = [
  event(3, 'other'),
  event(2, null),
  event(1, 's', true),
  event(1, 'other'),
];
const [one, two, three, four] = [event(1, 's'), event(2, 's'), event(3, 's'), event(4, 's')];

describe('absences', () => {
  it.each<[string, Parameters<typeof problemsAfter>, string[]]>([
    ['may begin anywhere, since compaction removes old steps', [three, four], []],
    ['after that have no gap', [one, three, four], ['gap']],
    ['may have a step twice as a snapshot', [one, again, two], []],
    ['may not have a step twice otherwise', [one, one], ['gap']],
    ['begin anew after the key was nulled', [one, three, null, news], []],
    ['are unknown after an event that cannot be read', [one, 'unreadable', three], []],
    ['are of one student', [one, event(2, 'other')], ['two-students']],
    ['are of one student, also beyond a record without any', [one, none, other], ['two-students']],
    ['may have a record without a student', [one, none, three], []],
  ])('%s', (_name, events, problems) => {
    expect(problemsAfter(...events)).toEqual(problems);
  });

  it('that show a version of another student than their events are reported', () => {
    const published = new PublishedAbsences();
    published.takeEvent('a', event(1, 's'), null);
    published.takeShown('a', version('v1', 'other'), null);
    expect(published.problems()).toEqual([{ collection: 'absences', key: 'a', kind: 'two-students' }]);
    published.forget('absences', 'a');
    expect(published.problems()).toEqual([]);
  });

  it('whose student has another pseudonym under another mapping are of one student', () => {
    const published = new PublishedAbsences();
    published.takeEvent('a', event(1, 's'), null);
    published.takeEvent('a', event(2, 'pseudonym'), 'mapping');
    published.takeShown('a', version('v2', 'pseudonym'), 'mapping');
    expect(published.problems()).toEqual([]);
  });
});

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
    previousVersion: null,
    snapshot,
    cause: 'HUB',
    mergedInto: null,
    detectedAt: 0,
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

describe('the steps of an absence', () => {
  it('may begin anywhere, since compaction removes old ones, and after that have no gap', () => {
    expect(problemsAfter(event(3, 's'), event(4, 's'))).toEqual([]);
    expect(problemsAfter(event(1, 's'), event(3, 's'), event(4, 's'))).toEqual(['gap']);
  });

  it('come twice only as snapshots', () => {
    expect(problemsAfter(event(1, 's'), event(1, 's', true), event(2, 's'))).toEqual([]);
    expect(problemsAfter(event(1, 's'), event(1, 's'))).toEqual(['gap']);
  });

  it('begin anew after the key was nulled, and are unknown after an event that cannot be read', () => {
    expect(problemsAfter(event(1, 's'), event(3, 's'), null, event(1, 'other'))).toEqual([]);
    expect(problemsAfter(event(1, 's'), 'unreadable', event(3, 's'))).toEqual([]);
  });
});

describe('absences', () => {
  it('with records of two students under one absence id are reported', () => {
    expect(problemsAfter(event(1, 's'), event(2, 'other'))).toEqual(['two-students']);
    expect(problemsAfter(event(1, 's'), event(2, null), event(3, 'other'))).toEqual(['two-students']);
    expect(problemsAfter(event(1, 's'), event(2, null), event(3, 's'))).toEqual([]);
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

import { expect, it } from 'vitest';
import { PublishedAbsences } from '../../../src/audit/published-absences.ts';
import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';

function version(sourcedId: string, student: string | null): AbsenceVersionValue {
  return { sourcedId, student: student === null ? null : { sourcedId: student } };
}

function event(step: number, student: string | null, snapshot: boolean): AbsenceChangeValue {
  const rest = { previousVersion: null, cause: 'HUB', mergedInto: null, detectedAt: 0 } as const;
  const operation = step === 1 ? 'CREATED' : 'REPLACED';
  return { absenceId: 'a', step, operation, version: version(`v${step}`, student), snapshot, ...rest };
}

/**
 * The kinds of problems after events of one absence: `3s` is step 3 of the student s, `-` one without a student, `!` of a
 * snapshot; `=s`: a version of s is shown, and no longer at `gone`; `~`: under another mapping; `null` and `?`: the key was
 * nulled, an event cannot be read.
 */
function problemsAfter(events: string): string {
  const published = new PublishedAbsences();
  for (const word of events.split(' ')) {
    const [, sign, student = '', snapshot, other] = /^(\d|=)?(\w+|-|\?)(!?)(~?)$/.exec(word) ?? [];
    const mapping = other === '~' ? 'mapping' : null;
    const by = student === '-' ? null : student;
    if (student === 'null') published.forget('absence-changes', 'a');
    else if (student === 'gone') published.forget('absences', 'a');
    else if (student === '?') published.takeEvent('a', null, null);
    else if (sign === '=') published.takeShown('a', version('v', by), mapping);
    else published.takeEvent('a', event(Number(sign), by, snapshot === '!'), mapping);
  }
  return published
    .problems()
    .map(({ collection, kind }) => `${kind} in ${collection}`)
    .join(' ');
}

const GAP = 'gap in absence-changes';
const TWO = 'two-students in absence-changes';

it.each([
  ['accepts an absence whose first steps were compacted away', '3s 4s', ''],
  ['reports a gap between the steps of an absence', '1s 3s 4s', GAP],
  ['accepts a step that stands twice, the second time as a snapshot', '1s 1s! 2s', ''],
  ['reports a step that stands twice without a snapshot', '1s 1s', GAP],
  ['accepts steps that begin again after the null of a key', '1s 3s null 1other', ''],
  ['accepts a gap after an event that cannot be read', '1s ? 3s', ''],
  ['reports an absence of two students, even with a record of no student between', '1s 2- 3other', TWO],
  ['accepts a record without a student', '1s 2- 3s', ''],
  ['reports an absence that is of another student than its events', '1s =other', 'two-students in absences'],
  ['accepts an absence of another student once it has left `absences`', '1s =other gone', ''],
  ['accepts one student with another pseudonym under another mapping', '1s 2pseudonym~ =pseudonym~', ''],
])('verify %s: %s', (_name, events, problems) => {
  expect(problemsAfter(events)).toBe(problems);
});

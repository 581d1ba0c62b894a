import { describe, expect, it } from 'vitest';
import { EntryImport, type LoggedStep } from '../../../../src/core/chains/entry-import.ts';
import { row } from './support/rows.ts';

const REBUILT = { isNews: false };
const ofA = row('two', { studentId: 'A', replaces: 'one' });
const ofB = row('two', { studentId: 'B', replaces: 'one' });
const event: LoggedStep = {
  absenceId: 'one',
  step: 2,
  isDeletion: false,
  row: ofA,
  mergedInto: null,
  since: 1,
};

function absenceOf(replay: EntryImport): string | null | undefined {
  return replay.changed.get('two')?.absenceId;
}

describe('an index rebuilt from the topics, of a record that the hub has assigned to another student,', () => {
  it('does not assign the record to the absence of an earlier event, whichever topic is read first', () => {
    const rowFirst = new EntryImport(new Map());
    rowFirst.row(ofB, REBUILT);
    rowFirst.step(event);
    const eventFirst = new EntryImport(new Map());
    eventFirst.step(event);
    eventFirst.row(ofB, REBUILT);
    const between = new EntryImport(new Map());
    between.row(ofA, REBUILT);
    between.step(event);
    between.row(ofB, REBUILT);
    expect([rowFirst, eventFirst, between].map(absenceOf)).toEqual([null, null, null]);
  });

  it('assigns the record to the absence of an event of its own student', () => {
    const replay = new EntryImport(new Map());
    replay.row(ofA, REBUILT);
    replay.step(event);
    replay.row({ ...ofA, isDeleted: true }, REBUILT);
    expect(absenceOf(replay)).toBe('one');
  });
});

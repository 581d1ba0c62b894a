import { describe, expect, it } from 'vitest';
import type { ChainRow } from '../../../../src/core/chains/chain-state.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { ChainShell } from './support/chain-shell.ts';
import { publishedSteps } from './support/published-steps.ts';
import { row } from './support/rows.ts';

/* Invariant 11: one absence id never holds the records of two students. */

const nobodyThere = (): null => null;
const ofA = row('stray-2', { studentId: 'A', replaces: 'stray-1' });
const ofB = row('stray-1', { studentId: 'B' });
const OWN = 'stray-1|absence-2';

function shellWith(...pages: ChainRow[][]): ChainShell {
  const shell = new ChainShell(resolve);
  for (const rows of pages) shell.deliver({ rows, ask: nobodyThere });
  return shell;
}

describe("a record whose id another student's absence already has", () => {
  it('gets an absence id of its own, and the absence stays as it was', () => {
    const shell = shellWith([ofA], [ofB]);
    expect(publishedSteps(shell)).toEqual([
      'stray-1#1 CREATED ->stray-2 HUB',
      `${OWN}#1 CREATED ->stray-1 HUB`,
    ]);
    expect([...shell.currents]).toEqual([
      ['stray-1', 'stray-2'],
      [OWN, 'stray-1'],
    ]);
  });

  it('gets its own id where both are known from the start', () => {
    const shell = shellWith([ofB, ofA]);
    expect(Object.fromEntries(shell.currents)).toEqual({ 'stray-1': 'stray-1', 'stray-2': 'stray-2' });
  });

  it('hands its absence id on to the versions that replace it', () => {
    const shell = shellWith([ofA], [ofB], [row('next', { studentId: 'B', replaces: 'stray-1' })]);
    expect(publishedSteps(shell, 2)).toEqual([`${OWN}#2 REPLACED stray-1>next HUB`]);
    shell.deliver({ vanished: ['stray-1'], mode: 'final', ask: nobodyThere });
    shell.deliver({ rows: [row('last', { studentId: 'B', replaces: 'next' })], ask: nobodyThere });
    expect(publishedSteps(shell, 3)).toEqual([`${OWN}#3 REPLACED next>last HUB`]);
  });

  it("lets the other student's chain keep its id", () => {
    const shell = shellWith([ofA], [ofB], [row('later', { studentId: 'A', replaces: 'stray-2' })]);
    expect(publishedSteps(shell, 2)).toEqual(['stray-1#2 REPLACED stray-2>later HUB']);
    shell.deliver({ rows: [row('later', { studentId: 'A', replaces: 'stray-2', isDeleted: true })] });
    expect(publishedSteps(shell, 3)).toEqual(['stray-1#3 DELETED ->later HUB']);
  });

  it('keeps its id when the index is rebuilt from the topics', () => {
    const shell = shellWith([ofA], [ofB]).rebuilt();
    shell.deliver({ rows: [ofA, ofB], ask: nobodyThere, mode: 'final' });
    expect(publishedSteps(shell, 2)).toEqual([]);
    shell.deliver({ rows: [row('next', { studentId: 'B', replaces: 'stray-1' })], ask: nobodyThere });
    expect(publishedSteps(shell, 2)).toEqual([`${OWN}#2 REPLACED stray-1>next HUB`]);
  });

  it('gets an id of its own even after the other absence was deleted and its events expired', () => {
    const deleted = { ...ofA, isDeleted: true };
    expect(publishedSteps(shellWith([ofA], [deleted], [ofB]), 2)).toEqual([`${OWN}#1 CREATED ->stray-1 HUB`]);
    const shell = shellWith([ofA], [deleted]);
    shell.forget('stray-1');
    shell.deliver({ rows: [ofB], ask: nobodyThere });
    expect(publishedSteps(shell, 2)).toEqual([`${OWN}#1 CREATED ->stray-1 HUB`]);
  });

  it('keeps its own id when it is deleted and restored', () => {
    const shell = shellWith([ofA], [ofB], [{ ...ofB, isDeleted: true }], [ofB]);
    expect(publishedSteps(shell, 2)).toEqual([
      `${OWN}#2 DELETED ->stray-1 HUB`,
      `${OWN}#3 RESTORED ->stray-1 HUB`,
    ]);
  });

  it('does not take an absence over through the record that gave it its id, if that record moved to this student while it waited', () => {
    const shell = shellWith(
      [row('first', { studentId: 'A' })],
      [row('last', { studentId: 'A', replaces: 'first' })],
    );
    const waiting = row('first', { studentId: 'A', replaces: 'unseen' });
    shell.deliver({ rows: [row('last', { studentId: 'B', replaces: 'first' }), waiting] });
    shell.deliver({ rows: [{ ...waiting, studentId: 'C' }] });
    shell.deliver({ revisit: ['first'], mode: 'final', ask: nobodyThere });
    expect(shell.strangers).toEqual([]);
    expect(Object.fromEntries(shell.currents)).toEqual({ last: 'last', unseen: 'first' });
  });

  it('never takes an id that a record or an absence already has', () => {
    const shell = shellWith([row(OWN, { studentId: 'C' })], [ofA], [ofB]);
    expect(publishedSteps(shell, 2)).toEqual(['stray-1|absence-3#1 CREATED ->stray-1 HUB']);
  });

  it('never takes an id under which another student was published, even after those events expired', () => {
    const shell = shellWith([ofA], [ofB], [{ ...ofB, isDeleted: true }]);
    shell.forget(OWN);
    shell.deliver({ rows: [{ ...ofB, studentId: 'C' }], ask: nobodyThere });
    expect(publishedSteps(shell, 3)).toEqual(['stray-1|absence-3#1 CREATED ->stray-1 HUB']);
  });

  it('stays a separate absence when two students refer to it before it arrives', () => {
    const third = row('stray-3', { studentId: 'B', replaces: 'stray-1' });
    for (const pages of [[[ofA, third]], [[ofA], [third]]]) {
      const shell = shellWith(...pages, [ofB]);
      expect(Object.fromEntries(shell.currents)).toEqual({ 'stray-1': 'stray-2', 'stray-3': 'stray-3' });
      expect(shell.steps).toHaveLength(2);
    }
    const shell = shellWith([ofA, third], [{ ...ofB, studentId: 'C' }]);
    expect(shell.currents.get(OWN)).toBe('stray-1');
  });

  it('leaves the absence unchanged while it names no student, and gets an id of its own once it names one', () => {
    const shell = shellWith([ofA], [{ ...ofB, studentId: null }]);
    expect(publishedSteps(shell, 1)).toEqual([]);
    shell.deliver({ rows: [ofB], ask: nobodyThere });
    expect(publishedSteps(shell, 1)).toEqual([`${OWN}#1 CREATED ->stray-1 HUB`]);
    expect(shell.currents.get('stray-1')).toBe('stray-2');
  });

  it('takes no absence over when all records of the other student have departed', () => {
    const shell = shellWith([ofA], [row('stray-3', { studentId: 'B', replaces: 'stray-1' })]);
    shell.deliver({ vanished: ['stray-2'], mode: 'final', ask: nobodyThere });
    expect(publishedSteps(shell, 2)).toEqual(['stray-1#2 DELETED ->stray-2 VANISHED']);
  });
});

describe('a record that the hub assigns to another student', () => {
  it('leaves the absence to the versions that stay with the student', () => {
    const first = row('one', { studentId: 'A' });
    const second = row('two', { studentId: 'A', replaces: 'one' });
    const shell = shellWith([first, second], [{ ...first, studentId: 'B' }]);
    expect(publishedSteps(shell, 2)).toEqual(['one|absence-2#1 CREATED ->one HUB']);
    expect(shell.currents.get('one')).toBe('two');
  });

  it('that no longer names its student joins no other student’s absence', () => {
    const one = row('one', { studentId: 'A' });
    const shell = shellWith([one], [{ ...one, studentId: null }]);
    shell.deliver({ rows: [row('two', { studentId: 'B', replaces: 'one' })], ask: nobodyThere });
    expect(publishedSteps(shell, 1)).toEqual(['two#1 CREATED ->two HUB']);
  });
});

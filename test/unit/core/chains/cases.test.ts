import { describe, expect, it } from 'vitest';

import type { ChainRow } from '../../../../src/core/chains/chain-state.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { ChainShell } from './support/chain-shell.ts';
import { row } from './support/rows.ts';
import { publishedSteps } from './support/published-steps.ts';

const a = row('a');
const aReplaced = row('a', { replacedBy: 'b' });
const b = row('b', { replaces: 'a' });
const bReplaced = row('b', { replaces: 'a', replacedBy: 'c' });
const c = row('c', { replaces: 'b' });
const noHub = (): null => null;

function shellWith(...pages: ChainRow[][]): ChainShell {
  const shell = new ChainShell(resolve);
  for (const rows of pages) shell.deliver({ rows, ask: noHub });
  return shell;
}

function kinds(rows: ChainRow[], shell = new ChainShell(resolve)): string[] {
  const { contradictions } = shell.deliver({ rows, ask: noHub, mode: 'final' });
  return contradictions.map(({ kind, versionIds }) => `${kind} ${versionIds.join(' ')}`);
}

const FULL = ['a#1 CREATED ->a HUB', 'a#2 REPLACED a>b HUB'];

describe('a chain', () => {
  it('whose tail arrives before its root is published in order, once the root has arrived', () => {
    const shell = new ChainShell(resolve);
    const first = shell.deliver({ rows: [b] });
    expect(first.steps).toEqual([]);
    expect(first.open).toEqual([{ absenceId: null, versionIds: ['b'], waitingFor: ['a'] }]);
    shell.deliver({ rows: [aReplaced] });
    expect(publishedSteps(shell)).toEqual(FULL);
    expect(shell.currents).toEqual(new Map([['a', 'b']]));
  });

  it('whose replacement is named but not seen yet is published once the replacement arrives', () => {
    const shell = shellWith([a]);
    expect(shell.deliver({ rows: [aReplaced] }).steps).toEqual([]);
    expect(shell.unsettled()).toEqual(['a']);
    shell.deliver({ rows: [b] });
    expect(publishedSteps(shell)).toEqual(FULL);
    expect(shell.unsettled()).toEqual([]);
  });

  it('of which an incremental sync brings only the replacement publishes the replacement', () => {
    const shell = shellWith([a]);
    shell.deliver({ rows: [b], ask: noHub });
    expect(publishedSteps(shell)).toEqual(FULL);
  });

  it('of which an incremental sync brings only the last version is published from its oldest version on', () => {
    const shell = new ChainShell(resolve);
    const hub = new Map([aReplaced, bReplaced].map((one) => [one.id, one]));
    shell.deliver({ rows: [c], ask: (id) => hub.get(id) ?? null });
    expect(publishedSteps(shell)).toEqual([...FULL, 'a#3 REPLACED b>c HUB']);
  });

  it('replaced twice between two polls publishes every step', () => {
    const shell = shellWith([a], [c, bReplaced, aReplaced]);
    expect(publishedSteps(shell)).toEqual([...FULL, 'a#3 REPLACED b>c HUB']);
  });

  it('created and deleted between two polls publishes both steps', () => {
    const shell = shellWith([row('a', { isDeleted: true })]);
    expect(publishedSteps(shell)).toEqual(['a#1 CREATED ->a HUB', 'a#2 DELETED ->a HUB']);
    expect(shell.currents.size).toBe(0);
  });

  it('replaced and then deleted publishes the replacement and then the deletion', () => {
    const shell = shellWith([a], [aReplaced, { ...b, isDeleted: true }]);
    expect(publishedSteps(shell)).toEqual([...FULL, 'a#3 DELETED ->b HUB']);
    expect(shell.currents.size).toBe(0);
  });

  it('with a deleted version in the middle is not published as deleted, and the contradiction is reported', () => {
    const shell = shellWith([{ ...aReplaced, isDeleted: true }, b]);
    expect(publishedSteps(shell)).toEqual(FULL);
    expect(kinds([{ ...aReplaced, isDeleted: true }, b])).toEqual(['deleted-and-replaced a']);
  });

  it('that lives again after its deletion is published as restored, every time', () => {
    const shell = shellWith([{ ...a, isDeleted: true }], [b], [{ ...b, isDeleted: true }], [b]);
    expect(publishedSteps(shell, 2)).toEqual([
      'a#3 RESTORED a>b HUB',
      'a#4 DELETED ->b HUB',
      'a#5 RESTORED ->b HUB',
    ]);
  });

  it('whose ancestors left the hub takes its absence id from the oldest id that it refers to', () => {
    const shell = shellWith([c, bReplaced]);
    expect(publishedSteps(shell)).toEqual(['a#1 CREATED ->b HUB', 'a#2 REPLACED b>c HUB']);
  });

  it('keeps its id and publishes nothing when an older ancestor arrives late', () => {
    const shell = shellWith([bReplaced, c]);
    shell.deliver({ rows: [row('a', { replaces: '0', replacedBy: 'b' }), row('0')], ask: noHub });
    expect(publishedSteps(shell)).toHaveLength(2);
    expect(shell.currents).toEqual(new Map([['a', 'c']]));
    expect(shell.version('0')?.absenceId).toBe('a');
  });

  it('that cannot be completed is published at the end of the sync, which reports the missing version', () => {
    const shell = new ChainShell(resolve);
    const { open } = shell.deliver({ rows: [aReplaced], ask: () => undefined, mode: 'final' });
    expect(publishedSteps(shell)).toEqual(['a#1 CREATED ->a HUB']);
    expect(open).toEqual([{ absenceId: 'a', versionIds: ['a'], waitingFor: ['b'] }]);
    expect(shell.unsettled()).toEqual([]);
  });
});

describe('a removal from the hub', () => {
  it('of a complete chain publishes one deletion, once the last version is gone', () => {
    const shell = shellWith([aReplaced, b]);
    shell.deliver({ vanished: ['b'] });
    const { vanished: left } = shell.deliver({ vanished: ['a'] });
    shell.deliver({ revisit: shell.unsettled(), mode: 'final' });
    expect(publishedSteps(shell, 2)).toEqual(['a#3 DELETED ->b VANISHED']);
    expect(left).toEqual(['a']);
    expect(shell.currents.size).toBe(0);
  });

  it('of the tail makes the older version current that the hub still has, and is reported', () => {
    const shell = shellWith([aReplaced, b]);
    shell.deliver({ vanished: ['b'], mode: 'final' });
    expect(publishedSteps(shell, 2)).toEqual(['a#3 REPLACED b>a VANISHED']);
    expect(kinds([aReplaced], shell)).toEqual(['replacement-gone a b']);
  });

  it('of a deleted version publishes nothing and restores nothing', () => {
    const shell = shellWith([aReplaced, { ...b, isDeleted: true }]);
    shell.deliver({ vanished: ['b'], mode: 'final' });
    expect(publishedSteps(shell, 3)).toEqual([]);
    expect(shell.currents.size).toBe(0);
  });

  it('of an old version publishes nothing, and the absence keeps its id', () => {
    const shell = shellWith([aReplaced, bReplaced, c]);
    shell.deliver({ vanished: ['a'], mode: 'final' });
    shell.deliver({ vanished: ['b'], mode: 'final' });
    shell.deliver({ rows: [row('c', { replaces: 'b', replacedBy: 'd' }), row('d', { replaces: 'c' })] });
    expect(publishedSteps(shell, 3)).toEqual(['a#4 REPLACED c>d HUB']);
  });

  it('that is taken back restores the same absence', () => {
    const shell = shellWith([aReplaced, b]);
    shell.deliver({ vanished: ['a', 'b'], mode: 'final' });
    shell.deliver({ rows: [aReplaced, b] });
    expect(publishedSteps(shell, 2)).toEqual(['a#3 DELETED ->b VANISHED', 'a#4 RESTORED ->b HUB']);
  });

  it('does not follow from an answer that an ancestor is not found', () => {
    const shell = shellWith([a]);
    const input = { rows: [b], gone: ['a'], mode: 'page', sequence: 9 } as const;
    const versions = new Map([
      ['a', shell.version('a')],
      ['b', null],
    ]);
    const absences = new Map([
      ['a', shell.absence('a')],
      ['b', null],
    ]);
    const { steps } = resolve({ ...input, chainState: { versions, absences } });
    expect(steps.map(({ operation }) => operation)).toEqual(['REPLACED']);
  });
});

describe('contradictory records', () => {
  it('in a fork make one absence, whose current version is always a live branch', () => {
    const fork = [aReplaced, b, row('x', { replaces: 'a' })];
    const shell = shellWith(fork);
    expect(shell.currents).toEqual(new Map([['a', 'b']]));
    expect(kinds(fork)).toEqual(['fork a b x']);
    shell.deliver({ rows: [{ ...b, isDeleted: true }] });
    expect(publishedSteps(shell).at(-1)).toBe('a#3 REPLACED b>x HUB');
  });

  it('in a fork that is decided otherwise later lose no version', () => {
    const shell = shellWith([a], [row('x', { replaces: 'a' })], [aReplaced, bReplaced, c]);
    expect(publishedSteps(shell, 1)).toEqual([
      'a#2 REPLACED a>x HUB',
      'a#3 REPLACED x>b HUB',
      'a#4 REPLACED b>c HUB',
    ]);
  });

  it('that refer to themselves are published and reported', () => {
    const selfish = [row('a', { replaces: 'a', replacedBy: 'a' })];
    expect(publishedSteps(shellWith(selfish))).toEqual(['a#1 CREATED ->a HUB']);
    expect(kinds(selfish)).toEqual(['self-reference a', 'self-reference a']);
  });

  it('in a loop are published once and reported', () => {
    const loop = [
      row('a', { replaces: 'c', replacedBy: 'b' }),
      bReplaced,
      row('c', { replaces: 'b', replacedBy: 'a' }),
    ];
    const shell = shellWith(loop);
    expect(publishedSteps(shell)).toEqual([...FULL, 'a#3 REPLACED b>c HUB']);
    expect(kinds(loop)).toEqual(['loop a b c']);
    shell.deliver({ rows: loop, ask: noHub });
    expect(shell.steps).toHaveLength(3);
  });

  it('of two students that link to each other are two absences, and are reported', () => {
    const rows = [aReplaced, { ...b, studentId: 'another' }];
    expect(shellWith(rows).currents).toEqual(
      new Map([
        ['a', 'a'],
        ['b', 'b'],
      ]),
    );
    expect(kinds(rows)).toEqual(['other-student a b', 'other-student a b']);
  });

  it('of two students that refer to the same missing record are two absences', () => {
    const shell = shellWith([
      row('x', { replaces: 'lost' }),
      row('y', { replaces: 'lost', studentId: 'another' }),
    ]);
    expect([...shell.currents.values()].sort()).toEqual(['x', 'y']);
  });

  it('linked by only one of the two are one absence, and are reported', () => {
    expect(publishedSteps(shellWith([a, b]))).toEqual(FULL);
    expect(publishedSteps(shellWith([aReplaced, row('b')]))).toEqual(FULL);
    expect(kinds([a, b])).toEqual(['replaces-only a b']);
    expect(kinds([aReplaced, row('b')])).toEqual(['replaced-by-only a b']);
  });
});

describe('two published absences that turn out to be one', () => {
  it('merge: the older one continues, and the younger one is published as deleted', () => {
    const shell = shellWith([a], [row('b')], [aReplaced, row('b')]);
    expect(publishedSteps(shell, 2)).toEqual(['a#2 REPLACED a>b HUB', 'b#2 DELETED ->b MERGED into a']);
    expect(shell.currents).toEqual(new Map([['a', 'b']]));
    shell.deliver({ rows: [bReplaced, c], ask: noHub });
    expect(publishedSteps(shell, 4)).toEqual(['a#3 REPLACED b>c HUB']);
  });

  it('leave the absence that was published first unchanged when it holds the later version', () => {
    const shell = shellWith([row('b')], [a], [aReplaced]);
    expect(publishedSteps(shell, 2)).toEqual(['a#2 DELETED ->a MERGED into b']);
    expect(shell.currents).toEqual(new Map([['b', 'b']]));
  });

  it('and fall apart again are both current again', () => {
    const shell = shellWith([a], [row('b')], [aReplaced], [a]);
    expect(publishedSteps(shell, 4)).toContain('b#3 RESTORED ->b HUB');
    expect(shell.currents).toEqual(
      new Map([
        ['a', 'a'],
        ['b', 'b'],
      ]),
    );
  });
});

describe('an absence whose events expired', () => {
  it('stays unpublished while it stays deleted', () => {
    const shell = shellWith([
      { ...aReplaced, isDeleted: false },
      { ...b, isDeleted: true },
    ]);
    shell.forget('a');
    shell.deliver({ rows: [aReplaced, { ...b, isDeleted: true }] });
    shell.deliver({ vanished: ['a'], mode: 'final' });
    expect(publishedSteps(shell, 3)).toEqual([]);
  });

  it('begins again with one CREATED event when it lives again', () => {
    const shell = shellWith([aReplaced, { ...b, isDeleted: true }]);
    shell.forget('a');
    shell.deliver({ rows: [row('b', { replaces: 'a', replacedBy: 'c', isDeleted: true }), c] });
    expect(publishedSteps(shell, 3)).toEqual(['a#1 CREATED ->c HUB']);
  });
});

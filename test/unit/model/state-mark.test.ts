import { expect, it } from 'vitest';

import { isStateMark, stateMark } from '../../../src/model/progress.ts';

it.each([null, 'mapping-1'])(
  'a changelog of entries in the first format stays complete: mapping %s',
  (mapping) => {
    expect(isStateMark(mapping ?? 'plain', mapping)).toBe(true);
  },
);

it('a version of Rollcall that knows only the first format does not take a newer changelog for its own', () => {
  expect(stateMark(null)).not.toBe('plain');
  expect(stateMark('mapping-1')).not.toBe('mapping-1');
  expect(isStateMark(stateMark('mapping-1'), 'mapping-1')).toBe(true);
});

it.each(['plain', stateMark(null), undefined, stateMark('mapping-2'), 'mapping-2'])(
  'a changelog made under another mapping, or none, is not complete: %s',
  (mark) => {
    expect(isStateMark(mark, 'mapping-1')).toBe(false);
  },
);

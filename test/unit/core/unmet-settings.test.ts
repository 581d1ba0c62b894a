import { expect, it } from 'vitest';
import { UnmetSettings } from '../../../src/core/rows/unmet-settings.ts';

const KNOWN = ['sourcedId', 'email', 'username'];
const dropping = (...drop: string[]) => new UnmetSettings({ drop, pseudonymise: [], ignore: [] }, KNOWN);

it.each([
  [['emial'], [{ email: 'a' }], ['drop: no row has the field emial; did you mean email?']],
  [['Email'], [{ email: 'a' }], ['drop: no row has the field Email; did you mean email?']],
  [['shoeSize'], [{ email: 'a' }], ['drop: no row has the field shoeSize']],
  [['shoeSize'], [{ email: 'a' }, { shoeSize: null }], []],
  [['username'], [{ email: 'a' }], []],
  [['emial'], [], []],
])('fields of drop that no row has are reported once rows were read (case %$)', (drop, rows, sentences) => {
  const unmet = dropping(...drop);
  for (const row of rows) unmet.noteRow(row);
  expect(unmet.sentences).toEqual(sentences);
});

it('a field of pseudonymise or ignore that no row has is reported with the name of its setting', () => {
  const unmet = new UnmetSettings({ drop: [], pseudonymise: ['nmae'], ignore: ['clas'] }, ['name', 'class']);
  unmet.noteRow('no object');
  expect(unmet.sentences).toEqual([
    'pseudonymise: no row has the field nmae; did you mean name?',
    'ignore: no row has the field clas; did you mean class?',
  ]);
});

it('an afterschool that the hub does not know is reported until the hub knows it', () => {
  const unmet = dropping();
  unmet.noteParent('sfo-9', false);
  expect(unmet.sentences).toEqual(['afterschools: the hub does not know sfo-9']);
  unmet.noteParent('sfo-9', true);
  expect(unmet.sentences).toEqual([]);
});

import { describe, expect, it } from 'vitest';

import { canonicalText } from '../../../src/core/json-text.ts';
import { rawJson } from '../../../src/core/raw-json.ts';

describe('canonicalText', () => {
  it('the order of keys, null members and an href do not change the text', () => {
    const one = { b: [1, { y: 'é"\n', x: null }], a: true, href: 'https://one.example' };
    const other = { a: true, href: 'https://other.example', b: [1, { y: 'é"\n' }], c: null };
    expect(canonicalText(one)).toBe(canonicalText(other));
    expect(canonicalText(one)).toBe('{"a":true,"b":[1,{"y":"é\\"\\n"}]}');
  });

  it('different values have different texts', () => {
    const different = [
      {},
      [],
      '',
      0,
      false,
      null,
      '0',
      'null',
      [0],
      ['0'],
      [[]],
      [{}],
      { a: [] },
      { a: {} },
      { a: '{}' },
    ];
    expect(new Set(different.map((value) => canonicalText(value))).size).toBe(different.length);
  });

  it('the order of a set does not change the text, and that of a list does', () => {
    const sets = new Set(['roles']);
    expect(canonicalText(['b', 'a'], { sets, name: 'roles' })).toBe('["a","b"]');
    expect(canonicalText({ roles: [2, 1], list: [2, 1] }, { sets })).toBe('{"list":[2,1],"roles":[1,2]}');
  });

  it('a number that a double cannot hold keeps its digits, and lone surrogates stay distinct', () => {
    expect(canonicalText({ a: [rawJson('12345678901234567890')] })).toBe('{"a":[12345678901234567890]}');
    expect(canonicalText('\ud800')).not.toBe(canonicalText('\ud801'));
    expect(canonicalText('😀')).toBe('"😀"');
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalText, jsonText } from '../../../src/core/json-text.ts';
import { rawJson } from '../../../src/core/raw-json.ts';

/** Makes an array of arrays and objects, `depth` levels of each. */
function nested(depth: number): unknown {
  let value: unknown = { z: 1, a: 'x' };
  for (let level = 0; level < depth; level++)
    value = { b: [value, rawJson('12345678901234567890')], a: null };
  return value;
}

describe('jsonText', () => {
  it('the text is that of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonText(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('nesting too deep for JSON.stringify is written in full', () => {
    expect(() => JSON.stringify(nested(50_000))).toThrow(RangeError);
    const before = '{"b":['.repeat(50_000);
    const after = ',12345678901234567890],"a":null}'.repeat(50_000);
    expect(jsonText(nested(50_000)) === `${before}{"z":1,"a":"x"}${after}`).toBe(true);
  });
});

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

  it('the text is the same at every depth of nesting', () => {
    for (const depth of [90, 100, 101, 110, 50_000]) {
      const after = ',12345678901234567890]}'.repeat(depth);
      expect(canonicalText(nested(depth)) === `${'{"b":['.repeat(depth)}{"a":"x","z":1}${after}`).toBe(true);
    }
  });

  it('lone surrogates stay distinct', () => {
    expect(canonicalText('\ud800')).not.toBe(canonicalText('\ud801'));
    expect(canonicalText('😀')).toBe('"😀"');
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseLossless } from '../../../src/core/lossless-json.ts';
import { isRawJson } from '../../../src/core/raw-json.ts';

describe('parseLossless', () => {
  it('the digits of a number that a double cannot hold are kept, wherever it stands', () => {
    const numbers =
      '12345678901234567890 -9007199254740993 0.1000000000000000055511151231257827 1e400 -1E-400';
    for (const digits of `${numbers} 1.00000000000000000001 123456789012345678901234567890.5e3`.split(' '))
      for (const text of [`{"a":${digits}}`, `[1, ${digits} ]`, `{"a":{"b":[\n${digits}\n]}}`, digits])
        expect(JSON.stringify(parseLossless(text))).toBe(text.replaceAll(/\s/g, ''));
  });

  it('what a double holds is a plain number', () => {
    const numbers = '1e2 1.0 100000000000000000000000 1E+23 0.30000000000000004 9007199254740992 0e999';
    for (const digits of `${numbers} 0.00000000000000000000`.split(' '))
      expect(parseLossless(`{"a":${digits}}`)).toEqual({ a: Number(digits) });
  });

  it('a number inside a text stays text', () => {
    const texts = ['":12345678901234567890', '\\":[1e400,', '\\', '\\\\'];
    for (const text of texts) {
      const row = { a: text, [text]: [text], b: 1 };
      expect(parseLossless(JSON.stringify(row))).toEqual(row);
      const withNumber = `{"n":12345678901234567890,${JSON.stringify(row).slice(1)}`;
      expect(JSON.stringify(parseLossless(withNumber))).toBe(withNumber);
    }
  });

  it('any JSON without large numbers comes back as JSON.parse gives it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.stringify(parseLossless(text))).toEqual(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 500 },
    );
  });

  it('a number of any digits keeps its value', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,40})(\.\d{1,40})?([eE][+-]?\d{1,4})?$/);
    fc.assert(
      fc.property(digits, (number) => {
        const [read] = parseLossless(`[${number}]`) as [unknown];
        expect(isRawJson(read) ? read.rawJSON === number : sameDecimal(number, String(read))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('broken text is refused', () => {
    const texts =
      '{ {"a":12345678901234567890.} [01234567890123456789] [1e] {"a":12345678901234567890 <html>';
    for (const text of ['', '["12345678901234567890]', ...texts.split(' ')])
      expect(() => parseLossless(text)).toThrow(SyntaxError);
  });

  it('a `__proto__` in the text reaches no prototype', () => {
    const text = '{"__proto__":{"polluted":12345678901234567890}}';
    const read = parseLossless(text) as object;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(JSON.stringify(read)).toBe(text);
  });

  it('a megabyte of digits is read within seconds', { timeout: 5000 }, () => {
    const text = `[1${'0'.repeat(1_000_000)}1,0.${'0'.repeat(1_000_000)}1]`;
    expect(JSON.stringify(parseLossless(text))).toBe(text);
  });
});

/** Compares as fractions of integers, independently of the implementation. */
function sameDecimal(one: string, other: string): boolean {
  const [left, right] = [fraction(one), fraction(other)];
  return left.numerator * right.denominator === right.numerator * left.denominator;
}

function fraction(text: string): { numerator: bigint; denominator: bigint } {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) throw new Error(`no number: ${text}`);
  const [, sign, whole = '', decimals = '', exponent = '0'] = match;
  const shift = Number(exponent) - decimals.length;
  const digits = BigInt(`${whole}${decimals}`) * (sign === '-' ? -1n : 1n);
  return shift >= 0
    ? { numerator: digits * 10n ** BigInt(shift), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-shift) };
}

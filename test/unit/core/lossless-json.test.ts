import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { parseLossless } from '../../../src/core/rows/lossless-json.ts';
import { isRawJson } from '../../../src/core/rows/raw-json.ts';
import { forMany } from '../support/for-all.ts';

it(
  'the digits of a number that a double cannot hold are kept anywhere in a JSON text',
  { timeout: 5_000 },
  () => {
    const large = [`1${'0'.repeat(1_000_000)}1`, '9007199254740993', '-9007199254740993', '1e400', '-1E-400'];
    for (const digits of [
      ...large,
      '0.1000000000000000055511151231257827',
      '123456789012345678901234567890.5e3',
    ])
      for (const text of [`{"a":${digits}}`, `[1, ${digits} ]`, `{"a":{"b":[\n${digits}\n]}}`, digits])
        expect(JSON.stringify(parseLossless(text))).toBe(text.replaceAll(/\s/g, ''));
  },
);

it('a number in JSON that a double can hold becomes a plain number', () => {
  const numbers = '1e2 1.0 100000000000000000000000 1E+23 0.30000000000000004 9007199254740992 0e999';
  for (const digits of `${numbers} 0.00000000000000000000`.split(' '))
    expect(parseLossless(`{"a":${digits}}`)).toEqual({ a: Number(digits) });
});

it('any JSON is read as JSON.parse reads it, even beside a number that a double cannot hold', () => {
  const traps = ['":12345678901234567890', '\\":[1e400,', '\\', '\\\\'];
  const text = fc.oneof(
    fc.json(),
    fc.constantFrom(...traps, '__proto__').map((trap) => JSON.stringify({ [trap]: [trap] })),
  );
  forMany(500, [text], (json) => {
    expect(JSON.stringify(parseLossless(json))).toBe(JSON.stringify(JSON.parse(json)));
    const beside = `{"n":12345678901234567890,"of":${JSON.stringify(JSON.parse(json))}}`;
    expect(JSON.stringify(parseLossless(beside))).toBe(beside);
  });
});

it('a number in JSON keeps its value, whatever its digits', () => {
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,40})(\.\d{1,40})?([eE][+-]?\d{1,4})?$/);
  forMany(1_000, [digits], (number) => {
    const [read] = parseLossless(`[${number}]`) as [unknown];
    expect(isRawJson(read) ? read.rawJSON : valueOf(String(read))).toEqual(
      isRawJson(read) ? number : valueOf(number),
    );
  });
});

it('broken JSON is refused, and a `__proto__` in JSON reaches no prototype', () => {
  const texts = '{ {"a":12345678901234567890.} [01234567890123456789] [1e] {"a":12345678901234567890 <html>';
  for (const text of ['', '["12345678901234567890]', ...texts.split(' ')])
    expect(() => parseLossless(text)).toThrow(SyntaxError);
  const read = parseLossless('{"__proto__":{"polluted":12345678901234567890}}');
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
});

/** As digits without zeros at their end, and an exponent, independently of the implementation. */
function valueOf(text: string): unknown {
  const [, sign = '', whole = '', decimals = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${decimals}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short === '' ? 0 : [sign, short, Number(exponent) - decimals.length + digits.length - short.length];
}

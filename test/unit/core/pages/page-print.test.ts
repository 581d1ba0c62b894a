import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blankStamps } from '../../../../src/core/pages/blank-stamps.ts';
import { digestOf, proveDigest } from '../../../../src/core/pages/page-print.ts';

interface Row {
  readonly [name: string]: unknown;
}

const stamps = fc
  .date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  .chain((date) => {
    const text = date.toISOString();
    return fc.constantFrom(text, text.replace(/\.\d+/, ''), text.replace('Z', '+02:00'));
  });
/** Values that look like what is blanked, wherever they stand. */
const traps = fc.oneof(
  fc.constantFrom(
    'dateLastModified',
    '"dateLastModified"',
    '"dateLastModified":"2026-01-01T00:00:00Z"',
    '\\"',
  ),
  fc.string({ unit: 'grapheme' }),
  fc.integer(),
  fc.record({ dateLastModified: fc.oneof(stamps, fc.constant(''), fc.integer()) }),
);
const contents = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('"dateLastModified', 'x')), traps, {
  maxKeys: 4,
});
const pages = fc.array(fc.tuple(contents, stamps), { minLength: 1, maxLength: 5 });
const spacings = fc.constantFrom(undefined, 1, '\t');

function textOf(rows: readonly Row[], space?: string | number): Buffer {
  return Buffer.from(JSON.stringify({ users: rows }, null, space));
}

function stamped(page: readonly (readonly [Row, string])[], later?: readonly string[]): Row[] {
  return page.map(([content, stamp], at) => ({ ...content, dateLastModified: later?.[at] ?? stamp }));
}

function rowsIn(body: unknown): readonly Row[] {
  return (body as { users: Row[] }).users;
}

function content(text: Buffer): Row[] {
  const rows = rowsIn(JSON.parse(text.toString()));
  return rows.map((row) => Object.assign(row, { dateLastModified: null }));
}

describe('the digest of a page', () => {
  test('if proven, every text with it has the same rows but for their times of modification', () => {
    let equal = 0;
    fc.assert(
      fc.property(pages, fc.option(pages), stamps, spacings, (one, given, later, space) => {
        // Two random pages are hardly ever the same, so some are re-stamps.
        const other = given ?? one.map(([row]) => [row, later] as const);
        const [first, second] = [textOf(stamped(one), space), textOf(stamped(other), space)];
        const proven = proveDigest(first, rowsIn);
        if (proven === null || digestOf(second) !== proven) return;
        equal += 1;
        expect(content(second)).toEqual(content(first));
      }),
      { numRuns: 2_000 },
    );
    expect(equal).toBeGreaterThan(0);
  });

  test('is the same after a re-stamp, and another after any other change of a byte', () => {
    fc.assert(
      fc.property(
        pages,
        fc.array(stamps, { minLength: 5, maxLength: 5 }),
        fc.nat(),
        fc.nat(254),
        (page, later, place, byte) => {
          const text = textOf(stamped(page));
          const proven = proveDigest(text, rowsIn);
          if (proven === null) return;
          expect(digestOf(textOf(stamped(page, later)))).toBe(proven);
          const at = place % text.length;
          const changed = Buffer.from(text);
          changed[at] = (changed[at] ?? 0) + 1 + byte;
          if (digestOf(changed) !== proven) return;
          expect(content(changed)).toEqual(content(text));
        },
      ),
    );
  });

  const time = '"dateLastModified":"2026-01-01T00:00:00Z"';
  test.each([
    ['a row without the time, beside one with two', `{"users":[{"x":{${time}},${time}},{}]}`],
    ['a time in a row’s part alone', `{"users":[{"x":{${time}}}]}`],
    ['a property whose name ends like it', `{"users":[{"\\${time}}]}`],
    ['a time outside the list', `{${time},"users":[{}]}`],
    ['the property twice in a row', `{"users":[{${time},${time}}]}`],
    ['a time that is no text', '{"users":[{"dateLastModified":1767225600000}]}'],
    ['a time that is empty', '{"users":[{"dateLastModified":""}]}'],
    ['a time with other letters', '{"users":[{"dateLastModified":"Thu Jan 01 2026 00:00:00"}]}'],
    ['an empty time whose name is escaped', `{"users":[{"\\u0064ateLastModified":"","x":{${time}}}]}`],
    ['a row as long as a record may be', `{"users":[{"x":"${'a'.repeat(100_001)}",${time}}]}`],
  ])('is not proven of a page with %s', (_, text) => {
    expect(proveDigest(Buffer.from(text), rowsIn)).toBeNull();
  });

  test('is proven of an ordinary page, with any spaces and with a byte order mark', () => {
    const rows = [{ sourcedId: 'a', dateLastModified: '2026-01-01T00:00:00.000Z', x: 1 }];
    const texts = [undefined, 1, '\t'].map((space) => textOf(rows, space));
    for (const text of [...texts, Buffer.concat([Buffer.from('\uFEFF'), textOf(rows)])])
      expect(proveDigest(text, rowsIn)).not.toBeNull();
  });
});

test('blanking counts the values that it takes out', () => {
  const text = textOf([
    { dateLastModified: '2026-01-01T00:00:00Z' },
    { dateLastModified: '2026-01-01T00:00:00.123Z' },
  ]);
  const blanked = blankStamps(text);
  expect(blanked?.stamps).toBe(2);
  expect(blanked?.bytes.toString()).toBe('{"users":[{"dateLastModified":""},{"dateLastModified":""}]}');
});

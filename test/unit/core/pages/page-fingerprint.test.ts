import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestOf, proveDigest } from '../../../../src/core/pages/page-fingerprint.ts';
import { forMany } from '../../support/for-all.ts';

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
const changes = fc.option(fc.tuple(fc.nat(), fc.nat(254)));

function textOf(rows: readonly Row[], space?: string | number): Buffer {
  return Buffer.from(JSON.stringify({ users: rows }, null, space));
}

function stamped(page: readonly (readonly [Row, string])[], later?: readonly string[]): Row[] {
  return page.map(([content, stamp], at) => ({ ...content, dateLastModified: later?.[at] ?? stamp }));
}

function rowsIn(text: Buffer): readonly Row[] {
  return (JSON.parse(text.toString().replace('\uFEFF', '')) as { users: Row[] }).users;
}

function content(text: Buffer): Row[] {
  return rowsIn(text).map((row) => Object.assign(row, { dateLastModified: null }));
}

function provenDigest(text: Buffer): string | null {
  return proveDigest(text, rowsIn(text));
}

test('pages with the same digest have the same rows, apart from dateLastModified', () => {
  forMany(1_000, [pages, stamps, spacings, changes], (page, later, space, change) => {
    const text = textOf(stamped(page), space);
    const proven = provenDigest(text);
    if (proven === null) return;
    const again = page.map(() => later);
    expect(digestOf(textOf(stamped(page, again), space))).toBe(proven);
    if (change === null) return;
    const [place, byte] = change;
    const changed = Buffer.from(text);
    const at = place % text.length;
    changed[at] = (changed[at] ?? 0) + 1 + byte;
    if (digestOf(changed) === proven) expect(content(changed)).toEqual(content(text));
  });
});

const time = '"dateLastModified":"2026-01-01T00:00:00Z"';
test.each([
  ['a row without the time, beside one with two', `{"users":[{"x":{${time}},${time}},{}]}`],
  ['a time in a row’s part alone', `{"users":[{"x":{${time}}}]}`],
  ['a property whose name ends like dateLastModified', `{"users":[{"\\${time}}]}`],
  ['a time outside the list', `{${time},"users":[{}]}`],
  ['dateLastModified twice in a row', `{"users":[{${time},${time}}]}`],
  ['a time that is no text', '{"users":[{"dateLastModified":1767225600000}]}'],
  ['a time that is empty', '{"users":[{"dateLastModified":""}]}'],
  ['a time with other letters', '{"users":[{"dateLastModified":"Thu Jan 01 2026 00:00:00"}]}'],
  ['an empty time whose name is escaped', `{"users":[{"\\u0064ateLastModified":"","x":{${time}}}]}`],
  ['a time whose name has an escaped capital', `{"users":[{"date\\u004castModified":"","x":{${time}}}]}`],
  ['a row as long as a record may be', `{"users":[{"x":"${'a'.repeat(100_001)}",${time}}]}`],
])('the digest of a page with %s is not proven', (_, text) => {
  expect(provenDigest(Buffer.from(text))).toBeNull();
});

test('the digest of an ordinary page is proven, whatever its white space, and with a byte order mark', () => {
  const [shortest, longest] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000000000+00:00'];
  const rows = [shortest, longest].map((dateLastModified, x) => ({ sourcedId: 'a', dateLastModified, x }));
  const texts = [undefined, 1, '\t'].map((space) => textOf(rows, space));
  for (const text of [...texts, Buffer.concat([Buffer.from('\uFEFF'), textOf(rows)])])
    expect(provenDigest(text)).not.toBeNull();
});

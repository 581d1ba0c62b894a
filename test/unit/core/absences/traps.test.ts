import { expect, test } from 'vitest';
import { encodeEntry, decodeEntry } from '../../../../src/core/absences/entry-codec.ts';
import { studentFingerprint } from '../../../../src/core/absences/absence-version.ts';
import { AbsenceIndex } from './support/absence-index.ts';
import { eventsOf, row } from './support/events.ts';

test('a link between two published absences that is not followed leaves no two current versions for good', () => {
  const index = new AbsenceIndex();
  index.final([row('m')]);
  index.final([row('z', { replaces: 'a' })]);
  index.final([row('a', { replaces: 'm', replacedBy: 'z' })]);
  index.final([row('m', { replacedBy: 'a' })]);
  expect([...index.shown]).toEqual([['z', 'z']]);
  expect(eventsOf(index).at(-1)).toBe('m/2 DELETED m MERGED z');
});

test('the key of an unpublished entry is never an awaited id, which may turn out to be of another student', () => {
  const index = new AbsenceIndex();
  index.page([row('v2', { replaces: 'v1' })]);
  expect([...index.entries.keys()]).toEqual(['v2']);
  index.page([row('v1', { student: 2 })]);
  index.final();
  index.check();
  expect([...index.shown]).toEqual([['v2', 'v2']]);
  expect(eventsOf(index)).toContain('v1/2 DELETED v1');
});

test('all rows of a batch are placed before any link is followed', () => {
  const rows = [row('v3', { replaces: 'v2' }), row('v1'), row('v2', { replaces: 'v1' })];
  for (const order of [rows, rows.toReversed(), [rows[1], rows[0], rows[2]]]) {
    const index = new AbsenceIndex();
    index.page(order.flatMap((each) => each ?? []));
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2', 'v1/3 REPLACED v3']);
  }
});

test('a placeholder id in both links does not chain the absences that name it', () => {
  const placeholder = { replaces: 'none', replacedBy: 'none' };
  const index = new AbsenceIndex();
  index.final([row('v1', placeholder)]);
  index.final([row('v2', placeholder), row('v3', placeholder), row('v4', { ...placeholder, student: 2 })]);
  expect([...index.shown.values()].sort()).toEqual(['v1', 'v2', 'v3', 'v4']);
});

test('an entry that was loaded and not touched stays open', () => {
  const index = new AbsenceIndex();
  index.page([row('v1', { replacedBy: 'v2' })]);
  // It only refers to an awaited member of the open absence, and is refused there.
  index.page([row('x', { replaces: 'v2', student: 2 })]);
  expect(index.entries.get('v1')?.isOpen).toBe(true);
  expect(index.awaited()).toContain('v2');
});

test('rows of a republication show a current absence again, and give no event', () => {
  const rows = [row('v1', { replacedBy: 'v2' }), row('v2', { replaces: 'v1' })];
  const index = new AbsenceIndex();
  index.final(rows);
  const { steps, shown } = index.page(rows);
  expect(steps).toEqual([]);
  expect([...shown]).toEqual([['v1', 'v2']]);
});

test('a lone absence takes six bytes, and a chain of three fewer than 90 with its pointers', () => {
  const ids = [1, 2, 3].map((each) => `3f2504e0-4f89-41d3-9a0c-0305e82c330${each}`);
  for (const [count, most] of [
    [1, 6],
    [3, 90],
  ] as const) {
    const index = new AbsenceIndex();
    index.final(ids.slice(0, count).map((id, at) => row(id, { replaces: ids[at - 1] ?? null })));
    const [[key, entry] = ['', undefined]] = index.entries;
    if (entry === undefined) throw new Error('there is no entry');
    expect(encodeEntry(key, entry).length + index.pointers.size * 17).toBeLessThanOrEqual(most);
  }
});

test('damaged bytes of an entry are refused', () => {
  const index = new AbsenceIndex();
  index.final([row('v1'), row('v2', { replaces: 'v1' })]);
  const entry = index.entries.get('v1');
  if (entry === undefined) throw new Error('there is no entry');
  const bytes = encodeEntry('v1', entry);
  expect(() => decodeEntry('v1', bytes.subarray(0, -1))).toThrow(RangeError);
  expect(() => decodeEntry('v1', Buffer.concat([bytes, Buffer.from([0])]))).toThrow(RangeError);
});

test('the fingerprint of a student depends on the tenant, and is 32 bits', () => {
  expect(studentFingerprint('a', 's1')).not.toBe(studentFingerprint('b', 's1'));
  expect(studentFingerprint('a', 's1')).toBe(studentFingerprint('a', 's1'));
  expect(studentFingerprint('a', 's1')).toBeLessThan(2 ** 32);
});

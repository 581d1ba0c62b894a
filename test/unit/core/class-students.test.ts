import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readClassStudents } from '../../../src/core/class-students.ts';

const rowsOf = (...ids: unknown[]) => ids.map((sourcedId) => ({ sourcedId, givenName: 'Testa' }));
const hashOf = (rows: readonly unknown[], classId = 'class-1') =>
  readClassStudents(classId, rows).hash.toString('hex');

it('the students of a class are ordered by id, each once, and may be none', () => {
  const facts = { kind: 'row', sourcedId: 'class-1', modifiedAtMs: null };
  const value = { classId: 'class-1', students: ['a', 'b'] };
  expect(readClassStudents('class-1', rowsOf('b', 'a', 'b'))).toMatchObject({ ...facts, value });
  expect(readClassStudents('class-1', [])).toMatchObject({ ...facts, value: { students: [] } });
});

it('another order of the same students, or another of their fields, does not change the hash', () => {
  const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1 });
  const orders = ids.chain((all) =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
  );
  const bare = (all: string[]) => all.map((sourcedId) => ({ sourcedId }));
  fc.assert(
    fc.property(orders, ([one, other]) => {
      expect(hashOf(rowsOf(...one))).toBe(hashOf(bare(other)));
    }),
  );
});

it('one student more or less, an odd id, and another class each change the hash', () => {
  const hashes = [rowsOf('a'), rowsOf('a', 'b'), rowsOf('a","b'), []].map((rows) => hashOf(rows));
  expect(new Set([...hashes, hashOf(rowsOf('a'), 'class-2')]).size).toBe(5);
});

it('a student without a readable id rejects the class instead of shortening its list', () => {
  for (const student of [{}, { sourcedId: 1 }, { sourcedId: '' }, null, 'a']) {
    const reading = readClassStudents('class-1', [...rowsOf('a'), student]);
    expect(reading).toMatchObject({ kind: 'reject', sourcedId: 'class-1', rejectId: 'class-1' });
    expect(reading.hash).toHaveLength(16);
  }
});

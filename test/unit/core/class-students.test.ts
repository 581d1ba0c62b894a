import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readClassStudents } from '../../../src/core/rows/class-students.ts';
import { forAll } from '../support/for-all.ts';

const rowsOf = (...ids: unknown[]) => ids.map((sourcedId) => ({ sourcedId, givenName: 'Testa' }));
const read = (ids: readonly unknown[], classId = 'class-1') => readClassStudents(classId, rowsOf(...ids));

it('the students of a class are ordered by id, each once, and their order does not change the hash', () => {
  const facts = { kind: 'row', sourcedId: 'class-1', modifiedAtMs: null };
  const value = { classId: 'class-1', students: ['a', 'b'] };
  expect(read(['b', 'a', 'b'])).toMatchObject({ ...facts, value });
  const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1 });
  forAll([ids], (all) => {
    const bare = all.toReversed().map((sourcedId) => ({ sourcedId }));
    expect(readClassStudents('class-1', bare)).toEqual(read(all));
  });
});

it('the hash of a class changes with one student more or less, with a quote in an id, and with its id', () => {
  const all = [read(['a']), read(['a', 'b']), read(['a","b']), read([]), read(['a'], 'class-2')];
  expect(new Set(all.map(({ hash }) => hash.toString('hex'))).size).toBe(5);
});

it('a student without a readable id rejects the class instead of shortening its list', () => {
  for (const student of [{}, { sourcedId: 1 }, { sourcedId: '' }, null, 'a']) {
    const reading = readClassStudents('class-1', [...rowsOf('a'), student]);
    expect(reading).toMatchObject({ kind: 'reject', sourcedId: 'class-1', rejectId: 'class-1' });
    expect(reading.hash).toHaveLength(16);
  }
});

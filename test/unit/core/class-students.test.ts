import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readClassStudents } from '../../../src/core/class-students.ts';

const rowsOf = (...ids: unknown[]) => ids.map((sourcedId) => ({ sourcedId, givenName: 'Testa' }));

function hashOf(rows: readonly unknown[], classId = 'class-1'): string {
  return readClassStudents(classId, rows).hash.toString('hex');
}

describe('the students of a class', () => {
  it('a student who is listed twice appears once in the value, which is ordered by id', () => {
    expect(readClassStudents('class-1', rowsOf('b', 'a', 'b'))).toMatchObject({
      kind: 'row',
      sourcedId: 'class-1',
      value: { classId: 'class-1', students: ['a', 'b'] },
      modifiedAtMs: null,
    });
  });

  it('another order of the same students does not change the hash', () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1 });
    const twoOrders = ids.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(twoOrders, ([one, other]) => {
        expect(hashOf(rowsOf(...one))).toBe(hashOf(rowsOf(...other)));
      }),
    );
  });

  it('one student more or less, an odd id, and another class each change the hash', () => {
    expect(hashOf(rowsOf('a'))).not.toBe(hashOf(rowsOf('a', 'b')));
    expect(hashOf(rowsOf('a","b'))).not.toBe(hashOf(rowsOf('a', 'b')));
    expect(hashOf(rowsOf('a'))).not.toBe(hashOf(rowsOf('a'), 'class-2'));
  });

  it('another field of a student does not change the hash of the class', () => {
    expect(hashOf([{ sourcedId: 'a', givenName: 'X' }])).toBe(hashOf([{ sourcedId: 'a' }]));
  });

  it.each([
    ['without an id', {}],
    ['whose id is a number', { sourcedId: 1 }],
    ['with an empty id', { sourcedId: '' }],
    ['that is null', null],
    ['that is a text', 'a'],
  ])('a student %s rejects the class instead of shortening its list', (_, student) => {
    const reading = readClassStudents('class-1', [...rowsOf('a'), student]);
    expect(reading).toMatchObject({ kind: 'reject', sourcedId: 'class-1', rejectId: 'class-1' });
    expect(reading.hash).toHaveLength(16);
  });

  it('a class without students is a row with an empty list', () => {
    expect(readClassStudents('class-1', [])).toMatchObject({ kind: 'row', value: { students: [] } });
  });
});

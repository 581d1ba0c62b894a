import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldNames, readLessonPage } from '../../../../src/core/lessons/lesson-page.ts';
import { RollcallError } from '../../../../src/errors.ts';

const lessons = [{ id: 'a' }, { id: 'b' }];

function refusal(body: unknown): RollcallError {
  try {
    readLessonPage(body);
  } catch (error) {
    if (error instanceof RollcallError) return error;
  }
  throw new Error('read, or not refused by name');
}

describe('a body of lessons', () => {
  it('is a list, or a list under `value` with the next page under `@odata.nextLink`', () => {
    expect(readLessonPage(lessons)).toEqual({ lessons, next: null });
    expect(readLessonPage([])).toEqual({ lessons: [], next: null });
    expect(readLessonPage({ value: lessons, '@odata.context': 'x' })).toEqual({ lessons, next: null });
    expect(readLessonPage({ value: lessons, '@odata.nextLink': '/next' })).toEqual({
      lessons,
      next: '/next',
    });
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'no lessons'],
    ['an empty object', {}],
    ['null in place of the list', { value: null }],
    ['one lesson without a list', { value: { id: 'a' } }],
    ['a list by another name', { schedules: lessons }],
    ['a list one level down', { data: { value: lessons } }],
    ['HAL', { _embedded: { schedules: lessons } }],
    ['HAL that counts 0', { _links: {}, page: { totalElements: 0 } }],
  ])('is never guessed: %s', (_, body) => {
    expect(refusal(body)).toMatchObject({ code: 'HUB_LESSONS_UNREADABLE' });
  });

  it('of another shape is an error that shows the names of its fields, no value, and the setting', () => {
    const error = refusal({ items: lessons, count: 2, student: 'Kari', '@odata.count': 2, left: null });
    expect(error.message).toMatch(/Its fields: @odata\.count, count, items, student$/);
    expect(`${error.message} ${error.remedy}`).not.toContain('Kari');
    expect(error.remedy).toContain('collections.schedules.enabled: false');
  });

  it('of any shape is a list or that error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        try {
          expect(Array.isArray(readLessonPage(body).lessons)).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: 'HUB_LESSONS_UNREADABLE' });
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('the names of fields in an error', () => {
  it('are those of all objects, in one order, without fields that are null', () => {
    expect(fieldNames([{ slutt: 1, begynner: 2 }, 'x', null, { rom: 1, slutt: 2, tom: null }])).toBe(
      'begynner, rom, slutt',
    );
    expect(fieldNames(['x', 7])).toBe('none');
  });

  it('do not show ids, names of people or other text that a body has as names', () => {
    const body = {
      id: 1,
      '01017012345': 1,
      'Kari Nordmann': 1,
      'a7c1-44': 1,
      ['x'.repeat(60)]: 1,
      'k@x.no': 1,
    };
    expect(fieldNames([body])).toBe('id, 5 more');
  });

  it('are at most 20', () => {
    const many = Array.from(
      { length: 500 },
      (_, at) => `f${'abcdefghij'[at % 10]}${'x'.repeat((at / 10) % 20)}`,
    );
    const text = fieldNames([Object.fromEntries(many.map((name) => [name, 1]))]);
    expect(text.split(', ')).toHaveLength(21);
    expect(text).toMatch(/, \d+ more$/);
    expect(text.length).toBeLessThan(900);
  });
});

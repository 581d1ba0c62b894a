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
    const page = { value: lessons, '@odata.context': 'x' };
    for (const body of [lessons, page]) expect(readLessonPage(body)).toEqual({ lessons, next: null });
    expect(readLessonPage([])).toEqual({ lessons: [], next: null });
    const next = '/next';
    expect(readLessonPage({ ...page, '@odata.nextLink': next })).toEqual({ lessons, next });
  });

  it('is never guessed, whatever it is', () => {
    const hal = [{ _embedded: { schedules: lessons } }, { _links: {}, page: { totalElements: 0 } }];
    const lists = [
      { value: null },
      { value: { id: 'a' } },
      { schedules: lessons },
      { data: { value: lessons } },
    ];
    for (const body of [undefined, null, 'no lessons', {}, ...lists, ...hal])
      expect(refusal(body)).toMatchObject({ code: 'HUB_LESSONS_UNREADABLE' });
    const isListOf = (body: unknown) => Array.isArray((body as { value?: unknown } | null)?.value ?? body);
    fc.assert(
      fc.property(fc.jsonValue(), (body) => isListOf(body) || refusal(body) instanceof RollcallError),
    );
  });

  it('of another shape is an error that shows the names of its fields, no value, and the setting', () => {
    const error = refusal({ items: lessons, count: 2, student: 'Kari', '@odata.count': 2, left: null });
    expect(error.message).toMatch(/Its fields: @odata\.count, count, items, student$/);
    expect(`${error.message} ${error.remedy}`).not.toContain('Kari');
    expect(error.remedy).toContain('collections.schedules.enabled: false');
  });
});

describe('the names of fields in an error', () => {
  it('are those of all objects, in one order, without fields that are null', () => {
    const names = fieldNames([{ slutt: 1, begynner: 2 }, 'x', null, { rom: 1, slutt: 2, tom: null }]);
    expect([names, fieldNames(['x', 7])]).toEqual(['begynner, rom, slutt', 'none']);
  });

  it('do not show ids, names of people or other text that a body has as names, and are at most 20', () => {
    const others = { '01017012345': 1, 'Kari Nordmann': 1, 'a7c1-44': 1, ['x'.repeat(60)]: 1, 'k@x.no': 1 };
    expect(fieldNames([{ id: 1, ...others }])).toBe('id, 5 more');
    const many = Array.from(
      { length: 500 },
      (_, at) => `f${'abcdefghij'[at % 10]}${'x'.repeat((at / 10) % 20)}`,
    );
    const text = fieldNames([Object.fromEntries(many.map((name) => [name, 1]))]);
    expect(text.split(', ')).toHaveLength(21);
    expect(text).toMatch(/, \d+ more$/);
  });
});

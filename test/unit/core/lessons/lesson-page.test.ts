import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { fieldNames, readLessonPage } from '../../../../src/core/lessons/lesson-page.ts';
import { RollcallError } from '../../../../src/errors.ts';
import { forAll } from '../../support/for-all.ts';

const lessons = [{ id: 'a' }, { id: 'b' }];

function refusal(body: unknown): RollcallError {
  try {
    readLessonPage(body);
  } catch (error) {
    if (error instanceof RollcallError) return error;
  }
  throw new Error('read, or not refused by name');
}

it('a body of lessons is a list, or a list under `value` with the next page under `@odata.nextLink`', () => {
  const page = { value: lessons, '@odata.context': 'x' };
  for (const body of [lessons, page]) expect(readLessonPage(body)).toEqual({ lessons, next: null });
  const next = '/next';
  expect(readLessonPage({ ...page, '@odata.nextLink': next })).toEqual({ lessons, next });
});

it('a body of lessons that cannot be read is an error that names fields and a setting, but no value', () => {
  const isListOf = (body: unknown) => Array.isArray((body as { value?: unknown } | null)?.value ?? body);
  forAll([fc.jsonValue()], (body) => isListOf(body) || refusal(body).code === 'HUB_LESSONS_UNREADABLE');
  for (const body of [undefined, { value: { id: 'a' } }, { data: { value: lessons } }])
    expect(refusal(body).code).toBe('HUB_LESSONS_UNREADABLE');
  const error = refusal({ items: lessons, count: 2, student: 'Kari', '@odata.count': 2, left: null });
  expect(error.message).toMatch(/The answer has the fields: @odata\.count, count, items, student$/);
  expect(`${error.message} ${error.remedy}`).not.toContain('Kari');
  expect(error.remedy).toContain('collections.schedules.enabled: false');
});

it('an error about lessons names at most 20 fields, none of them like an id, a person or a text', () => {
  const names = fieldNames([{ slutt: 1, begynner: 2 }, 'x', null, { rom: 1, slutt: 2, tom: null }]);
  expect([names, fieldNames(['x', 7])]).toEqual(['begynner, rom, slutt', 'none']);
  const others = { '01017012345': 1, 'Kari Nordmann': 1, 'a7c1-44': 1, ['x'.repeat(60)]: 1, 'k@x.no': 1 };
  expect(fieldNames([{ id: 1, ...others }])).toBe('id, 5 more');
  const many = Array.from({ length: 500 }, (_, at) => [
    `f${'abcdefghij'[at % 10]}${'x'.repeat((at / 10) % 20)}`,
    1,
  ]);
  expect(fieldNames([Object.fromEntries(many)])).toMatch(/^([a-z@.]+, ){20}\d+ more$/);
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLessonPage } from '../../../../src/core/schedules/lesson-page.ts';

const lessons = [{ id: 'a' }, { id: 'b' }];

describe('the body of a page of lessons', () => {
  it.each([
    ['a bare list', lessons],
    ['schedules', { schedules: lessons }],
    ['OData', { '@odata.context': 'x', value: lessons }],
    ['HAL', { _embedded: { schedules: lessons }, _links: { self: { href: '/x' } } }],
    ['HAL by another name', { _embedded: { lessonResourceList: lessons } }],
    ['an envelope by another name', { count: 2, items: lessons }],
    ['a list beside lists of something else', { errors: [], warnings: [], links: [], lessons }],
    ['a list one level down', { data: { lessons } }],
    ['a page of Spring', { content: lessons, last: true, number: 0 }],
  ])('%s is read as the list that it holds', (_, body) => {
    expect(readLessonPage(body)).toEqual({ lessons, next: null, saysMore: false });
  });

  it.each([
    ['schedules', { schedules: { id: 'a' } }],
    ['HAL', { _embedded: { schedule: { id: 'a' } } }],
    ['value', { value: { id: 'a' } }],
  ])('a single lesson without brackets is kept: %s', (_, body) => {
    expect(readLessonPage(body)?.lessons).toEqual([{ id: 'a' }]);
  });

  it('no body means no lessons', () => {
    expect(readLessonPage(undefined)).toEqual({ lessons: [], next: null, saysMore: false });
  });

  it.each([
    ['nothing', {}],
    ['null', null],
    ['null in place of the list', { value: null }],
    ['a text', 'no lessons'],
    ['a number', 0],
    ['two lists, neither of a known name', { a: [], b: [] }],
    ['an error', { errors: [{ code: 'x' }] }],
    ['only links', { _links: { self: { href: '/x' } } }],
    ['a total that is not 0', { _links: {}, page: { totalElements: 5 } }],
  ])('a body without a list is no page: %s', (_, body) => {
    expect(readLessonPage(body)).toBeNull();
  });

  it.each([{}, { _embedded: {} }])(
    'HAL that leaves out an empty list, and counts 0, means no lessons: %o',
    (embedded) => {
      expect(
        readLessonPage({ ...embedded, _links: { self: { href: '/x' } }, page: { totalElements: 0 } }),
      ).toEqual({
        lessons: [],
        next: null,
        saysMore: false,
      });
    },
  );

  it.each([
    ['OData', { value: lessons, '@odata.nextLink': '/next' }],
    ['OData 3', { value: lessons, 'odata.nextLink': '/next' }],
    ['HAL', { _embedded: { a: lessons }, _links: { next: { href: '/next' } } }],
    ['HAL with a list of links', { _embedded: { a: lessons }, _links: { next: [{ href: '/next' }] } }],
    ['JSON:API', { data: lessons, links: { next: '/next' } }],
    ['a plain member', { schedules: lessons, next: '/next' }],
  ])('the link to the next page is found: %s', (_, body) => {
    expect(readLessonPage(body)).toEqual({ lessons, next: '/next', saysMore: true });
  });

  it.each([{ last: false }, { hasMore: true }, { hasNextPage: true }])(
    'a page that says there is more, but not where, is not the last: %o',
    (extra) => {
      expect(readLessonPage({ content: lessons, ...extra })).toMatchObject({ next: null, saysMore: true });
    },
  );

  it('any JSON gives null or a list', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const page = readLessonPage(body);
        expect(page === null || Array.isArray(page.lessons)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

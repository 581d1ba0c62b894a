import { describe, expect, it } from 'vitest';
import { parseLossless } from '../../../../src/core/lossless-json.ts';
import { DEFAULT_LESSON_FIELDS, type LessonFields } from '../../../../src/core/schedules/lesson-fields.ts';
import { readLesson } from '../../../../src/core/schedules/read-lesson.ts';
import { createZoneClock } from '../../../../src/core/schedules/zone-clock.ts';

const zone = createZoneClock('Europe/Oslo');

function read(lesson: Record<string, unknown>, fields: Partial<LessonFields> = {}) {
  return readLesson(lesson, { zone, fields: { ...DEFAULT_LESSON_FIELDS, ...fields } });
}

/** Gives the date, start and end of a lesson, the latter two in UTC. */
function times(lesson: Record<string, unknown>): unknown[] {
  const lessonRead = read(lesson);
  if (lessonRead.kind === 'unreadable') return ['unreadable', lessonRead.date];
  const { start, end } = lessonRead.values;
  return [lessonRead.date, ...[start, end].map((ms) => (ms === null ? null : new Date(ms).toISOString()))];
}

describe('the time of a lesson', () => {
  const winter = ['2026-11-20', '2026-11-20T07:15:00.000Z', '2026-11-20T08:00:00.000Z'];

  it.each([
    ['in UTC', { start: '2026-11-20T07:15:00Z', end: '2026-11-20T08:00:00.000Z' }],
    ['with an offset', { startTime: '2026-11-20T08:15:00+01:00', endTime: '2026-11-20T09:00+01' }],
    ['with another offset', { from: '2026-11-20T02:15:00-05:00', to: '2026-11-20T12:45:00+04:45' }],
    [
      'with a zone after the offset',
      { start: '2026-11-20T08:15+01:00[Europe/Oslo]', end: '2026-11-20T08:00Z[UTC]' },
    ],
    ['in local time', { startDateTime: '2026-11-20T08:15:00', endDateTime: '2026-11-20 09:00' }],
    [
      'to the tenth of a microsecond',
      { start: '2026-11-20T08:15:00.0000000', end: '2026-11-20T09:00:00,000' },
    ],
    ['as date and times', { date: '2026-11-20', startTime: '08:15', endTime: '9:00:00' }],
    [
      'as date and times, the date being midnight',
      { date: '2026-11-20T00:00:00', start: '08:15', end: '09:00' },
    ],
    ['as FINT has it', { tidsrom: { start: '2026-11-20T07:15:00Z', slutt: '2026-11-20T08:00:00Z' } }],
    [
      'in a member whose name has a dot',
      { 'period.start': '2026-11-20T08:15', period: { end: '2026-11-20T09:00' } },
    ],
  ])('is read %s', (_, lesson) => {
    expect(times(lesson)).toEqual(winter);
  });

  it('follows summer and winter time', () => {
    expect(times({ date: '2026-06-01', start: '08:15', end: '09:00' })).toEqual([
      '2026-06-01',
      '2026-06-01T06:15:00.000Z',
      '2026-06-01T07:00:00.000Z',
    ]);
  });

  it.each([
    ['the day spring skips an hour', '2026-03-29', '2026-03-29T06:15:00.000Z', '2026-03-29T07:00:00.000Z'],
    ['the day before', '2026-03-28', '2026-03-28T07:15:00.000Z', '2026-03-28T08:00:00.000Z'],
    [
      'the day autumn has an hour twice',
      '2026-10-25',
      '2026-10-25T07:15:00.000Z',
      '2026-10-25T08:00:00.000Z',
    ],
    ['the day before that', '2026-10-24', '2026-10-24T06:15:00.000Z', '2026-10-24T07:00:00.000Z'],
  ])('is right on %s', (_, date, start, end) => {
    expect(times({ start: `${date}T08:15:00`, end: `${date}T09:00:00` })).toEqual([date, start, end]);
    expect(times({ date, start: '08:15', end: '09:00' })).toEqual([date, start, end]);
  });

  it("keeps the hub's offsets over the hour that autumn repeats", () => {
    expect(times({ start: '2026-10-25T02:30:00+02:00', end: '2026-10-25T02:30:00+01:00' })).toEqual([
      '2026-10-25',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:30:00.000Z',
    ]);
  });

  it('is on the local day of its start', () => {
    expect(times({ start: '2026-11-19T23:30:00Z', end: '2026-11-20T23:30:00Z' })[0]).toBe('2026-11-20');
    expect(times({ start: '2026-06-01T21:59:00Z' })[0]).toBe('2026-06-01');
    expect(times({ start: '2026-06-01T22:00:00Z' })[0]).toBe('2026-06-02');
  });

  it('takes the day from the start where the date beside it disagrees', () => {
    expect(times({ date: '2026-01-01', start: '2026-11-20T08:15', end: '2026-11-20T09:00' })).toEqual(winter);
  });

  it('may be a day without hours', () => {
    expect(times({ start: '2026-11-20', end: '2026-11-20' })).toEqual(['2026-11-20', null, null]);
    expect(times({ date: '2026-11-20' })).toEqual(['2026-11-20', null, null]);
    expect(times({ start: '2026-11-20T08:15' })).toEqual(['2026-11-20', '2026-11-20T07:15:00.000Z', null]);
  });

  it.each([
    [{}, null],
    [{ start: null, startTime: '' }, null],
    [{ start: '08:15' }, null],
    [{ start: 'at eight' }, null],
    [{ start: 1795158900000 }, null],
    [{ start: { dateTime: '2026-11-20T08:15' } }, null],
    [{ start: '2026-02-30T08:15' }, null],
    [{ start: '2026-11-20T24:00' }, null],
    [{ start: '2026-11-20T08:15[Europe/Oslo]' }, null],
    [{ date: '2026-11-20', start: '25:00' }, '2026-11-20'],
    [{ start: '2026-11-20T08:15', end: 'later' }, '2026-11-20'],
    [{ date: '2026-11-20', start: '08:15', end: 45 }, '2026-11-20'],
  ])('is not guessed from %o', (lesson, date) => {
    expect(times(lesson)).toEqual(['unreadable', date]);
  });
});

describe('the content of a lesson', () => {
  const at = { start: '2026-11-20T07:15:00Z', end: '2026-11-20T08:00:00Z' };
  const valuesOf = (lesson: Record<string, unknown>, fields: Partial<LessonFields> = {}) => {
    const lessonRead = read({ ...at, ...lesson }, fields);
    return lessonRead.kind === 'lesson' ? lessonRead.values : null;
  };

  it('holds all that the reference hub sends', () => {
    const reference = { href: 'https://h/classes/k', sourcedId: 'k', type: 'class' };
    const teacher = { href: 'https://h/users/t', sourcedId: 't', type: 'user' };
    expect(
      valuesOf({
        id: 'l',
        title: '8A Norsk',
        classes: [reference],
        teachers: [teacher],
        rooms: ['R1'],
        cancelled: true,
      }),
    ).toEqual({
      id: 'l',
      title: '8A Norsk',
      start: Date.parse(at.start),
      end: Date.parse(at.end),
      classes: [reference],
      teachers: [teacher],
      rooms: ['R1'],
      cancelled: true,
    });
  });

  it('is null where the hub says nothing', () => {
    const nothing = { id: null, title: null, classes: null, teachers: null, rooms: null, cancelled: null };
    expect(valuesOf({})).toMatchObject(nothing);
  });

  it.each([
    ['a list of ids', { classes: ['a', 'b'] }, [ref('a'), ref('b')]],
    ['one id', { class: 'a' }, [ref('a')]],
    ['numbers', { groups: [7, 8] }, [ref('7'), ref('8')]],
    ['objects with id', { group: { id: 'a', name: '8A' } }, [ref('a')]],
    ['an address', { class: 'https://h/x/classes/a%7Cb?x=1' }, [ref('a|b', 'https://h/x/classes/a%7Cb?x=1')]],
    ['HAL links', { _links: { group: { href: '/groups/a' } } }, [ref('a', '/groups/a')]],
    [
      'a list of HAL links',
      { _links: { undervisningsgruppe: [{ href: 'https://h/g/1' }, { href: 'https://h/g/2/' }] } },
      [ref('1', 'https://h/g/1'), ref('2', 'https://h/g/2/')],
    ],
    ['an empty list', { classes: [] }, []],
  ])('has its references when they come as %s', (_, lesson, expected) => {
    expect(valuesOf(lesson)?.classes).toEqual(expected);
  });

  it.each([[{ classes: ['a', null] }], [{ classes: [{}] }], [{ classes: [1.5] }], [{ classes: true }]])(
    'has no references rather than some of them: %o',
    (lesson) => {
      expect(valuesOf(lesson)).toMatchObject({ classes: null, start: Date.parse(at.start) });
    },
  );

  it.each([
    [{ rooms: ['A1', ''] }, ['A1']],
    [{ room: 'A1' }, ['A1']],
    [{ location: { id: 'x', name: 'A1' } }, ['A1']],
    [{ rooms: [{ id: 'x' }, 12] }, ['x', '12']],
    [{ rooms: [''] }, []],
    [{ rooms: [{}] }, null],
  ])('has the rooms of %o', (lesson, expected) => {
    expect(valuesOf(lesson)?.rooms).toEqual(expected);
  });

  it.each([
    [{ cancelled: true }, true],
    [{ cancelled: 'false' }, false],
    [{ isCancelled: 1 }, true],
    [{ status: 'CANCELLED' }, true],
    [{ status: 'avlyst' }, true],
    [{ status: 'active' }, false],
    [{ cancelled: false, status: 'cancelled' }, false],
    [{ cancelled: 'perhaps' }, null],
    [{ status: 3 }, null],
  ])('is cancelled or not by %o', (lesson, expected) => {
    expect(valuesOf(lesson)?.cancelled).toBe(expected);
  });

  it('keeps every digit of ids that are numbers', () => {
    const lesson = parseLossless(`{"id": 12345678901234567890, "classes": [{"id": 98765432109876543210}]}`);
    expect(valuesOf(lesson as Record<string, unknown>)).toMatchObject({
      id: '12345678901234567890',
      classes: [{ sourcedId: '98765432109876543210' }],
    });
  });

  it('has the name of an object as its title, and skips a title that UTF-8 cannot hold', () => {
    expect(valuesOf({ subject: { code: 'MAT', name: 'Matematikk' } })?.title).toBe('Matematikk');
    expect(valuesOf({ title: '\ud800', name: 'Norsk' })?.title).toBe('Norsk');
    expect(valuesOf({ title: 12 })?.title).toBeNull();
  });

  it('follows the field names of the configuration, in their order, instead of the default ones', () => {
    const fields = { title: ['emne', 'fag.navn'], id: ['nr'] };
    expect(valuesOf({ id: 'x', nr: 'y', title: 'T', fag: { navn: 'F' } }, fields)).toMatchObject({
      id: 'y',
      title: 'F',
    });
    expect(valuesOf({ emne: 'E', fag: { navn: 'F' } }, fields)?.title).toBe('E');
  });
});

function ref(sourcedId: string, href: string | null = null) {
  return { sourcedId, type: null, href };
}

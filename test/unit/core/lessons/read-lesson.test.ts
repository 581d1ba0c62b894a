import { expect, it } from 'vitest';
import {
  createLessonReader,
  type LessonFields,
  type LessonValues,
} from '../../../../src/core/lessons/read-lesson.ts';
import { parseLossless } from '../../../../src/core/rows/lossless-json.ts';
import { DEFAULT_LESSON_FIELDS } from '../support/lesson-fields.ts';

const AT = { start: '2026-11-20T07:15:00Z', end: '2026-11-20T08:00:00Z' };

function readerOf(fields: Partial<LessonFields> = {}) {
  return createLessonReader({ fields: { ...DEFAULT_LESSON_FIELDS, ...fields }, timeZone: 'Europe/Oslo' });
}

/** Beside a lesson that can be read: where none has a start, the reader throws. */
function read(lesson: unknown) {
  const [decoded] = readerOf()([lesson, AT]);
  if (decoded === undefined) throw new Error('not read');
  return decoded;
}

function valuesOf(lesson: object, fields: Partial<LessonFields> = {}): LessonValues {
  const [decoded] = readerOf(fields)([{ ...AT, ...lesson }]);
  if (decoded === undefined || decoded.date === null) throw new Error('not read');
  return decoded.values;
}

/** Gives the date, start and end of a lesson, the latter two in UTC. */
function times(lesson: Record<string, unknown>): unknown[] {
  const decoded = read(lesson);
  if (decoded.date === null) return [decoded.problem];
  const { start, end } = decoded.values;
  return [decoded.date, ...[start, end].map((ms) => (ms === null ? null : new Date(ms).toISOString()))];
}

const winter = ['2026-11-20', '2026-11-20T07:15:00.000Z', '2026-11-20T08:00:00.000Z'];

it.each([
  ['2026-11-20T07:15:00Z', '2026-11-20T08:00:00Z', winter],
  ['2026-11-20T02:15:00-05:00', '2026-11-20T12:45:00+04:45', winter],
  // by the clock of the tenant's zone
  ['2026-11-20T08:15:00', '2026-11-20 09:00', winter],
  ['2026-11-20T08:15:00.0000000', '2026-11-20T09:00:00,000', winter],
  // the hub's offsets, over the hour that autumn repeats
  [
    '2026-10-25T02:30:00+02:00',
    '2026-10-25T02:30:00+01:00',
    ['2026-10-25', '2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z'],
  ],
  // the local day of its start
  ['2026-06-01T22:00:00Z', null, ['2026-06-02', '2026-06-01T22:00:00.000Z', null]],
  ['2026-11-20', '2026-11-20', ['2026-11-20', null, null]],
])('the time of a lesson from %s to %s is read', (start, end, expected) => {
  expect(times({ start, end })).toEqual(expected);
});

it('a lesson whose start cannot be read has no day, and an end that cannot be read is null', () => {
  const texts = 'at eight|08:15||2026-02-30T08:15|2026-11-20T24:00|2026-11-20T08:15+01:00[Europe/Oslo]';
  for (const time of [...texts.split('|'), 1795158900000, ['2026-11-20T08:15']]) {
    expect(times({ start: time })).toEqual(['`start` of a lesson cannot be read as a time']);
    expect(times({ ...AT, end: time })).toEqual([...winter.slice(0, 2), null]);
  }
});

it('the error about lessons without a start names fields and setting, and shows no value', () => {
  const [met, other] = [{ begynner: AT.start, elev: 'Kari' }, { slutt: AT.end }];
  expect(() => readerOf()([met, other])).toThrow(
    expect.objectContaining({
      code: 'HUB_LESSONS_UNREADABLE',
      message:
        'Cannot read the lessons of a student: no lesson has the field `start`. The answer has the fields: begynner, elev, slutt',
      remedy: expect.stringContaining('schedules.fields.start') as string,
    }) as Error,
  );
  const found = readerOf({ start: 'begynner' })([met, other]);
  expect(found.map(({ date }) => date)).toEqual(['2026-11-20', null]);
  expect(readerOf()([])).toEqual([]);
});

const nothing = { id: null, title: null, classes: null, teachers: null, rooms: null, cancelled: null };

it.each([
  {},
  // under names that are not configured
  { sourcedId: 'x', name: 'x', classes: 'x', group: 'x', teacher: 'x', room: 'x', status: 'x' },
  { id: true, title: 12, class: { id: 'k' }, teachers: ['a', null], rooms: ['A', {}], cancelled: 'avlyst' },
  { id: '', title: '\ud800', class: 1.5, teachers: [{}], rooms: [''], cancelled: 2 },
  { id: {}, title: { name: 'x' }, class: [['k']], teachers: true, rooms: { name: 'A' }, cancelled: {} },
  parseLossless(`{"id": 1.00000000000000000001}`) as object,
])('a part of a lesson that does not fit is null, and so is a list with such a part (case %$)', (lesson) => {
  expect(valuesOf(lesson)).toMatchObject(nothing);
});

it('the parts of a lesson are found under the configured names, in objects and in lists', () => {
  const lists = { class: 'grupper.id', teachers: 'ansatt', rooms: 'sted.rom' };
  const fields = { id: 'nr', title: 'fag.navn', end: 'tid.til', ...lists };
  const grupper = [{ id: 'a' }, { id: 'b' }];
  const lesson = {
    nr: 7,
    fag: { navn: 'Norsk' },
    grupper,
    ansatt: 't',
    sted: { rom: 'A1' },
    tid: { til: AT.end },
  };
  const found = {
    classes: [ref('a'), ref('b')],
    teachers: [ref('t')],
    rooms: ['A1'],
    end: Date.parse(AT.end),
  };
  expect(valuesOf(lesson, fields)).toMatchObject({ id: '7', title: 'Norsk', ...found });
  expect(valuesOf({ ...lesson, grupper: [{ id: 'a' }, {}] }, fields).classes).toBeNull();
  expect(valuesOf({ 'fag.navn': 'Norsk', fag: 'x' }, fields).title).toBeNull();
});

it('the parts of a lesson take one reference or id as well as a list, and keep every digit', () => {
  const lesson = parseLossless(
    `{"id": 12345678901234567890, "class": [{"sourcedId": 98765432109876543210}]}`,
  );
  const [id, large] = ['12345678901234567890', '98765432109876543210'];
  expect(valuesOf(lesson as object)).toMatchObject({ id, classes: [ref(large)] });
  for (const one of ['a', { sourcedId: 'a' }, ['a']])
    expect(valuesOf({ class: one }).classes).toEqual([ref('a')]);
  expect(valuesOf({ class: [], rooms: ['A1', 12] })).toMatchObject({ classes: [], rooms: ['A1', '12'] });
  const spellings = [true, 'false', 1].map((cancelled) => valuesOf({ cancelled }).cancelled);
  expect(spellings).toEqual([true, false, true]);
});

function ref(sourcedId: string) {
  return { sourcedId, type: null, href: null };
}

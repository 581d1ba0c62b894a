import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRowReader } from '../../../../src/core/rows/row-reader.ts';
import { DayReader, type DaySchedule, type StudentDays } from '../../../../src/core/lessons/read-days.ts';
import { createValueCodec } from '../../../../src/core/avro/value-codec.ts';
import { DEFAULT_LESSON_FIELDS } from '../support/lesson-fields.ts';
import { schemaOf } from '../support/rows.ts';
import { forMany } from '../../support/for-all.ts';

type DayReaderOptions = ConstructorParameters<typeof DayReader>[0];

const OPTIONS: DayReaderOptions = {
  fields: DEFAULT_LESSON_FIELDS,
  timeZone: 'Europe/Oslo',
  drop: [],
  pseudonymise: [],
  ignore: [],
};
const WINDOW = { from: '2026-11-19', to: '2026-11-21' };

function read(
  lessons: readonly unknown[],
  options: Partial<DayReaderOptions> = {},
  isUtf8 = true,
): StudentDays {
  return new DayReader({ ...OPTIONS, ...options }).read({ student: 's|1', window: WINDOW, lessons, isUtf8 });
}

function lesson(start: string, rest: object = {}): Record<string, unknown> {
  return { id: `l${start}`, start: `2026-11-${start}:00`, end: `2026-11-${start}:45`, ...rest };
}

/** Two of them, or one in `raw` and value, do not fit into a record. */
const LARGE = { note: 'x'.repeat(460_000) };
const TOO_LARGE = 'the day is too large for a record';
/** Without a lesson that has a start, the reader throws. */
const OUTSIDE = lesson('25T08');

/** Gives for each day the ids of its lessons, or why the day was rejected. */
function outcome(days: StudentDays): Record<string, unknown> {
  return Object.fromEntries(
    days.rows.map(({ key, decoded: reading }) => [
      key?.split('|')[1] ?? '',
      reading.kind === 'row' ? (reading.value as DaySchedule).lessons.map(({ id }) => id) : reading.reason,
    ]),
  );
}

/** The days with lessons. */
const filledIn = ({ rows }: StudentDays) => rows.filter(({ isEmpty }) => isEmpty !== true);

function hashes(days: StudentDays): string[] {
  return filledIn(days).map(({ decoded: reading }) => reading.hash.toString('hex'));
}

it('each lesson is on its day, in order of time and then of ids, and only within the window', () => {
  const two = [
    lesson('20T08', { id: 'b', class: { id: 'a' } }),
    lesson('20T08', { id: 'a', class: { id: 'z' } }),
  ];
  const days = read([lesson('20T10'), lesson('18T10'), ...two, lesson('22T08'), lesson('19T08')]);
  expect(outcome(days)).toEqual({
    '2026-11-19': ['l19T08'],
    '2026-11-20': ['a', 'b', 'l20T10'],
    '2026-11-21': [],
  });
  expect(filledIn(days)[0]?.key).toBe('s%7C1|2026-11-19');
});

it('a lesson that two pages give appears once, unless its content differs', () => {
  expect(outcome(read([lesson('20T10'), lesson('20T10', { dateLastModified: 'x' })]))['2026-11-20']).toEqual([
    'l20T10',
  ]);
  expect(outcome(read([lesson('20T10'), lesson('20T10', { rooms: ['R'] })]))['2026-11-20']).toHaveLength(2);
});

it('the value of a day of lessons fits its schema and keeps the complete lesson', () => {
  const schema = schemaOf('schedules');
  const own = { title: 'Norsk', rooms: ['R'], cancelled: false };
  const reference = { sourcedId: 'k', type: 'class', href: 'h' };
  const teachers = [{ href: 'https://h/users/t', sourcedId: 't', type: 'user' }];
  const given = lesson('20T10', { ...own, teachers, class: reference, big: 1, nested: { x: [1, null] } });
  const reading = filledIn(read([given]))[0]?.decoded;
  if (reading?.kind !== 'row') throw new Error('not read');
  const body = createRowReader({ schema }).encode(reading.value);
  const [start, end] = [Date.parse('2026-11-20T09:00Z'), Date.parse('2026-11-20T09:45Z')];
  const typed = { id: 'l20T10', ...own, start, end, classes: [reference], teachers };
  expect(createValueCodec(schema).fromBuffer(body)).toEqual({
    student: 's|1',
    date: Date.parse('2026-11-20') / 86_400_000,
    lessons: [{ ...typed, raw: JSON.stringify(given) }],
  });
});

it('a lesson that cannot be decoded rejects its day, or all days if its day is unknown', () => {
  const empty = { '2026-11-19': [], '2026-11-20': [], '2026-11-21': [] };
  const lessons = [lesson('19T08'), lesson('20T08'), lesson('20T09', LARGE), lesson('20T10')];
  expect(outcome(read(lessons))).toEqual({ ...empty, '2026-11-19': ['l19T08'], '2026-11-20': TOO_LARGE });
  expect(outcome(read([lesson('25T08', LARGE)]))).toEqual(empty);
  const [huge] = filledIn(read([lesson('20T08', { note: 'x'.repeat(1_000_000) })]));
  expect(huge?.decoded).toMatchObject({ kind: 'reject', text: null, reason: TOO_LARGE });
  for (const [one, why] of [
    [{ id: 'l', start: 'soon' }, '`start` of a lesson cannot be read as a time'],
    [{ id: 'x' }, '`start` of a lesson is missing'],
    [{ start: null }, '`start` of a lesson is missing'],
    ['a text', 'a lesson is not an object'],
  ] as const)
    expect(outcome(read([lesson('19T08'), one]))).toEqual({ '*': why });
});

it('a lesson that cannot be decoded keeps its reject until its content changes', () => {
  const bad = (rest: object): string[] =>
    hashes(read([lesson('20T09', { ...LARGE, ...rest }), lesson('20T10')].toReversed()));
  const hash = hashes(read([lesson('20T09', LARGE), lesson('20T10')]));
  expect(bad({ dateLastModified: '2026', href: 'x' })).toEqual(hash);
  expect(bad({ room: 'R' })).not.toEqual(hash);
});

it('a lesson that cannot be decoded shows nothing in its reject that the configuration takes out', () => {
  const pseudonymiseKey = 'a key of some length';
  const options = { drop: ['teacher'], pseudonymise: ['title'], pseudonymiseKey };
  const days = read([lesson('20T09', { ...LARGE, teacher: 'Kari', title: 'Kari' })], options);
  const reading = filledIn(days)[0]?.decoded;
  const text = reading?.kind === 'reject' ? reading.text : null;
  expect(text).toContain('l20T09');
  expect(text).not.toMatch(/Kari|teacher/);
  const list = [lesson('19T08'), [{ teachers: ['Kari'] }]];
  for (const mapping of [{ drop: ['teachers'] }, { pseudonymise: ['teachers'], pseudonymiseKey }])
    expect(JSON.stringify(read(list, mapping))).not.toContain('Kari');
  expect(JSON.stringify(read(list))).toContain('Kari');
});

it('a lesson with bytes that are not UTF-8 is rejected', () => {
  const lessons = [lesson('19T08'), lesson('20T08', { title: 'Sm\uFFFDr' })];
  expect(outcome(read(lessons, {}, false))['2026-11-20']).toBe('the text of a lesson is not UTF-8');
  expect(outcome(read(lessons, {}, true))['2026-11-20']).toEqual(['l20T08']);
});

it('the hash of a day changes with the content of its lessons, not with their order, stamps or links', () => {
  const [one, two] = [
    lesson('20T08', { class: ['a', 'b'], link: { href: '/1' } }),
    lesson('20T09', { changed: '1' }),
  ];
  const hash = hashes(read([one, two]));
  const turned = Object.fromEntries(Object.entries(one).toReversed());
  const moved = { dateLastModified: '2026-11-20T00:00:00Z', href: 'https://other', link: { href: '/2' } };
  for (const same of [
    [two, one],
    [{ ...turned, class: ['b', 'a'], comment: null, ...moved }, two],
  ])
    expect(hashes(read(same))).toEqual(hash);
  const others = [
    ...[{ title: 'x' }, { class: ['a', 'c'] }, { comment: 'x' }, { cancelled: true }].map((own) => [
      { ...one, ...own },
      two,
    ]),
    [one, { ...two, changed: '2' }],
    [one],
    [{ ...one, start: '2026-11-20T07:00:00Z' }, two],
  ].map((lessons) => read(lessons));
  const fields = { ...DEFAULT_LESSON_FIELDS, title: 'emne' };
  const mapped = [{ fields }, { timeZone: 'Europe/Berlin' }].map((options) => read([one, two], options));
  const all = [hash, ...[...others, ...mapped].map(hashes)].map(String);
  expect(new Set(all).size).toBe(all.length);
  const noted = [{ ...one, note: 'x' }, two];
  expect(hashes(read(noted, { ignore: ['note'] }))).toEqual(hashes(read([one, two], { ignore: ['note'] })));
  const empty = read([]).rows.map(({ decoded }) => decoded.hash.toString('hex'));
  expect(new Set(empty).size).toBe(3);
});

it('every lesson appears in its day or in a reject, and no lesson makes the reader throw', () => {
  const time = fc.constantFrom('2026-11-20T08:00:00Z', '2026-11-19T09:00', '08:15', 'soon', null, 7);
  const [json, text] = [fc.jsonValue(), time];
  const parts = fc.record({ id: json, start: text, end: text, class: json, x: json }, { requiredKeys: [] });
  const anyLesson = fc.oneof(json, parts);
  forMany(300, [fc.array(anyLesson, { maxLength: 5 })], (lessons) => {
    const days = read([...lessons, OUTSIDE]);
    const texts = days.rows.flatMap(({ decoded: reading }) =>
      reading.kind === 'row' ? (reading.value as DaySchedule).lessons.map(({ raw }) => raw) : [reading.text],
    );
    const shown = lessons.filter((one) => texts.join('\n').includes(JSON.stringify(one)));
    if (days.isUnread) expect(shown).not.toEqual([]);
    else expect(shown).toEqual(lessons);
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  lessonsOf,
  scheduleKeys,
  type Absence,
  type Lesson,
} from '../../../examples/absence-lessons/absence-lessons.ts';
import { zoneClock } from '../../../src/core/zone-clock.ts';
import { compositeKey } from '../../../src/model/keys.ts';
import { forAll, forMany } from '../support/for-all.ts';

const ZONE = 'Europe/Oslo';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MORNING = Date.parse('2026-03-27T07:00:00Z');
const HELD = { from: '2025-12-01', to: '2027-01-31' };

function absenceOf(fromTime: number | null, toTime: number | null, student: string | null = 'anna'): Absence {
  return {
    fromTime,
    toTime,
    student: student === null ? null : { sourcedId: student },
    classesAffected: null,
  };
}

const minute = (max: number) => fc.integer({ min: 0, max }).map((at) => MORNING + at * MINUTE_MS);
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 8 });
const classRef = fc.constantFrom('a', 'b', 'c').map((sourcedId) => ({ sourcedId }));
const lessons = fc.array(
  fc.record({
    id: nullable(fc.constantFrom('l1', 'l2', 'l3')),
    start: nullable(minute(9)),
    end: nullable(minute(9)),
    classes: nullable(fc.array(classRef, { maxLength: 2 })),
  }),
  { maxLength: 6 },
);
const absences = fc.record({
  fromTime: nullable(minute(9)),
  toTime: nullable(minute(9)),
  student: fc.constant({ sourcedId: 'anna' }),
  classesAffected: nullable(classRef),
});

/** The minutes that begin in an interval: the rule in other words than those of the code. */
function minutesOf(from: number | null, to: number | null): Set<number> {
  const found = new Set<number>();
  if (from === null || to === null) return found;
  for (let at = from; at < to; at += MINUTE_MS) found.add(at);
  return found;
}

it('an absence touches exactly the lessons that share a minute with it, of the class if it names one', () => {
  forAll([absences, lessons], (absence, all) => {
    const away = minutesOf(absence.fromTime, absence.toTime);
    const named = absence.classesAffected?.sourcedId;
    const expected = all.filter(
      ({ start, end, classes }) =>
        !minutesOf(start, end).isDisjointFrom(away) &&
        (named === undefined || (classes ?? []).map(({ sourcedId }) => sourcedId).includes(named)),
    );
    const found = lessonsOf(absence, [{ lessons: all }]);
    expect(new Set(found)).toEqual(new Set(expected));
    expect(found).toHaveLength(expected.length);
  });
});

it('the lessons of an absence are in order of time, whatever the order of the days', () => {
  forAll([absences, lessons, lessons], (absence, one, other) => {
    const found = lessonsOf(absence, [{ lessons: one }, { lessons: other }]);
    const turned = lessonsOf(absence, [{ lessons: other.toReversed() }, { lessons: one.toReversed() }]);
    const timesOf = (all: readonly Lesson[]) => all.map(({ start, end, id }) => [start, end, id ?? '']);
    expect(timesOf(turned)).toEqual(timesOf(found));
    const starts = found.map(({ start }) => start ?? 0);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });
});

const MARCH = { from: '2026-03-09', to: '2026-03-12' };
const LAST = { from: '9999-12-30', to: '9999-12-31' };
it.each([
  // Placeholders: 23:59 in UTC is in the year 10000 in Oslo.
  ['2026-03-11T08:00Z', '9999-12-31T00:00Z', MARCH, '2026-03-10', '2026-03-12'],
  ['2026-03-11T08:00Z', '9999-12-31T23:59Z', MARCH, '2026-03-10', '2026-03-12'],
  ['2026-03-11T08:00Z', '9999-12-31T23:59Z', LAST, '9999-12-30', '9999-12-31'],
  ['0001-01-01T00:00Z', '2026-03-11T08:00Z', MARCH, '2026-03-09', '2026-03-11'],
  ['0999-12-31T00:00Z', '9999-12-31T00:00Z', MARCH, '2026-03-09', '2026-03-12'],
  // The least and the greatest that a topic can hold.
  ['-271821-04-20T00:00Z', '+275760-09-13T00:00Z', MARCH, '2026-03-09', '2026-03-12'],
  // Outside of the days held, and without duration.
  ['9999-12-30T08:00Z', '9999-12-31T23:59Z', HELD],
  ['0001-01-01T00:00Z', '2025-03-01T00:00Z', HELD],
  ['2026-03-10T08:00Z', '2026-03-10T08:00Z', HELD],
])('an absence from %s to %s has each schedule key once', (from, to, held, first?: string, last?: string) => {
  const days: string[] = [];
  for (let day = Date.parse(first ?? ''); day <= Date.parse(last ?? ''); day += DAY_MS)
    days.push(`anna|${new Date(day).toISOString().slice(0, 10)}`);
  expect(scheduleKeys(absenceOf(Date.parse(from), Date.parse(to)), ZONE, held)).toEqual(days);
});

it('schedule keys name local days, and an absence without student, start or end has none', () => {
  const [from, to] = [Date.parse('2026-03-09T23:00:00Z'), Date.parse('2026-03-10T23:00:00Z')];
  for (const absence of [absenceOf(from, to, null), absenceOf(null, to), absenceOf(from, null)])
    expect(scheduleKeys(absence, ZONE, HELD)).toEqual([]);
  expect(scheduleKeys(absenceOf(from, to), 'UTC', HELD)).toHaveLength(3);
});

it('keys of schedules lead to every lesson that an absence touches, and to no later day', () => {
  const zones = [ZONE, 'UTC', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Kiritimati'];
  const instants = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2026-12-31') });
  const spans = fc.integer({ min: 1, max: 4 * DAY_MS });
  const lessonSpans = fc.integer({ min: 1, max: 12 * HOUR_MS });
  const students = fc.string({ unit: fc.constantFrom('a', '|', '%', '7', 'C') });
  const given = fc.record({
    zone: fc.constantFrom(...zones),
    from: instants,
    span: spans,
    long: lessonSpans,
    id: students,
    at: fc.nat(),
  });
  forMany(500, [given], ({ zone, from, span, long, id, at }) => {
    const absence = absenceOf(from, from + span, id);
    // any lesson that overlaps the absence
    const start = from - long + 1 + (at % (span + long - 1));
    const lesson = { id: 'l', start, end: start + long, classes: null };
    const clock = zoneClock(zone);
    const keys = scheduleKeys(absence, zone, HELD);
    expect(lessonsOf(absence, [{ lessons: [lesson] }])).toEqual([lesson]);
    expect(keys).toContain(compositeKey(id, clock.dateAt(start)));
    expect(keys.at(-1)).toBe(compositeKey(id, clock.dateAt(from + span - 1)));
    expect(new Set(keys).size).toBe(keys.length);
  });
});

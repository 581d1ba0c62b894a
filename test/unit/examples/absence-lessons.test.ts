import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  lessonsOf,
  scheduleKeys,
  type Absence,
  type Days,
  type Lesson,
} from '../../../examples/absence-lessons/absence-lessons.ts';
import { createZoneClock } from '../../../src/core/lessons/zone-clock.ts';
import { compositeKey } from '../../../src/model/keys.ts';

const ZONE = 'Europe/Oslo';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The clocks of Oslo go forward on 29 March 2026 at 01:00 UTC. */
const MORNING = Date.parse('2026-03-27T07:00:00Z');

function absenceOf(from: string | null, to: string | null, classId: string | null = null): Absence {
  return {
    fromTime: from === null ? null : Date.parse(from),
    toTime: to === null ? null : Date.parse(to),
    student: { sourcedId: 'anna' },
    classesAffected: classId === null ? null : { sourcedId: classId },
  };
}

function lessonAt(id: string, from: string, to: string, ...classIds: string[]): Lesson {
  const classes = classIds.map((sourcedId) => ({ sourcedId }));
  return { id, start: Date.parse(from), end: Date.parse(to), classes };
}

function idsOf(absence: Absence, ...lessons: Lesson[]): (string | null)[] {
  return lessonsOf(absence, [{ lessons }]).map(({ id }) => id);
}

const MATHS = lessonAt('maths', '2026-03-10T08:00:00Z', '2026-03-10T09:00:00Z', '7b-maths');
const MATHS_AGAIN = lessonAt('maths-2', '2026-03-10T12:00:00Z', '2026-03-10T13:00:00Z', '7b-maths');
const ART = lessonAt('art', '2026-03-10T09:00:00Z', '2026-03-10T10:00:00Z', '7b-art', '7c-art');
const DAY = [ART, MATHS_AGAIN, MATHS];

const minute = (max: number) => fc.integer({ min: 0, max }).map((at) => MORNING + at * MINUTE_MS);
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 8 });
const classRef = fc.constantFrom('a', 'b', 'c').map((sourcedId) => ({ sourcedId }));
const lessons = fc.array(
  fc.record({
    id: nullable(fc.constantFrom('l1', 'l2', 'l3')),
    start: nullable(minute(30)),
    end: nullable(minute(30)),
    classes: nullable(fc.array(classRef, { maxLength: 2 })),
  }),
  { maxLength: 6 },
);
const absences = fc.record({
  fromTime: nullable(minute(30)),
  toTime: nullable(minute(30)),
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

describe('the lessons of an absence', () => {
  it('a lesson is touched exactly if they share a minute, and the class if the absence names one', () => {
    fc.assert(
      fc.property(absences, lessons, (absence, all) => {
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
      }),
    );
  });

  it('their order depends neither on the order of the days nor on that within a day', () => {
    fc.assert(
      fc.property(absences, lessons, lessons, (absence, one, other) => {
        const found = lessonsOf(absence, [{ lessons: one }, { lessons: other }]);
        const turned = lessonsOf(absence, [{ lessons: other.toReversed() }, { lessons: one.toReversed() }]);
        const timesOf = (all: readonly Lesson[]) => all.map(({ start, end, id }) => [start, end, id ?? '']);
        expect(timesOf(turned)).toEqual(timesOf(found));
        const starts = found.map(({ start }) => start ?? 0);
        expect(starts).toEqual(starts.toSorted((a, b) => a - b));
      }),
    );
  });

  it('a lesson that ends when the absence begins, or begins when it ends, is not touched', () => {
    expect(idsOf(absenceOf('2026-03-10T09:00:00Z', '2026-03-10T12:00:00Z'), ...DAY)).toEqual(['art']);
    expect(idsOf(absenceOf('2026-03-10T08:59:59.999Z', '2026-03-10T12:00:00.001Z'), ...DAY)).toEqual([
      'maths',
      'art',
      'maths-2',
    ]);
  });

  it('of a class that is taught twice a day, both lessons are touched', () => {
    const allDay = absenceOf('2026-03-09T23:00:00Z', '2026-03-10T23:00:00Z', '7b-maths');
    expect(idsOf(allDay, ...DAY)).toEqual(['maths', 'maths-2']);
    expect(idsOf({ ...allDay, classesAffected: { sourcedId: '7c-art' } }, ...DAY)).toEqual(['art']);
  });

  it('an absence from a class that is not taught that day touches no lesson', () => {
    expect(idsOf(absenceOf('2026-03-09T23:00:00Z', '2026-03-10T23:00:00Z', '7b-music'), ...DAY)).toEqual([]);
  });

  it('an absence that ends before it begins, or has no start or end, touches no lesson', () => {
    expect(idsOf(absenceOf('2026-03-10T10:00:00Z', '2026-03-10T08:00:00Z'), ...DAY)).toEqual([]);
    expect(idsOf(absenceOf('2026-03-10T08:30:00Z', '2026-03-10T08:30:00Z'), ...DAY)).toEqual([]);
    expect(idsOf(absenceOf(null, '2026-03-10T10:00:00Z'), ...DAY)).toEqual([]);
    expect(idsOf(absenceOf('2026-03-10T08:00:00Z', null), ...DAY)).toEqual([]);
  });
});

describe('the days of an absence', () => {
  const held: Days = { from: '2025-12-01', to: '2027-01-31' };
  const keysOf = (absence: Absence, zone = ZONE) => scheduleKeys(absence, zone, held);

  it('an absence within a day needs that day and the one before', () => {
    const keys = keysOf(absenceOf('2026-03-10T08:00:00Z', '2026-03-10T10:00:00Z'));
    expect(keys).toEqual(['anna|2026-03-09', 'anna|2026-03-10']);
  });

  it('an absence until midnight does not need the day that begins then', () => {
    const tuesday = absenceOf('2026-03-09T23:00:00Z', '2026-03-10T23:00:00Z');
    expect(keysOf(tuesday)).toEqual(['anna|2026-03-09', 'anna|2026-03-10']);
    expect(keysOf(tuesday, 'UTC')).toEqual(['anna|2026-03-08', 'anna|2026-03-09', 'anna|2026-03-10']);
  });

  it('each day is named once, also where a day has 23 or 25 hours', () => {
    expect(keysOf(absenceOf('2026-03-28T22:30:00Z', '2026-03-30T00:00:00Z'))).toEqual(
      ['27', '28', '29', '30'].map((day) => `anna|2026-03-${day}`),
    );
    expect(keysOf(absenceOf('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'))).toEqual(
      ['24', '25'].map((day) => `anna|2026-10-${day}`),
    );
  });

  it('an absence without student, start, end or duration needs none', () => {
    const absence = absenceOf('2026-03-10T08:00:00Z', '2026-03-10T10:00:00Z');
    expect(keysOf({ ...absence, student: null })).toEqual([]);
    expect(keysOf({ ...absence, fromTime: null })).toEqual([]);
    expect(keysOf({ ...absence, toTime: null })).toEqual([]);
    expect(keysOf({ ...absence, toTime: absence.fromTime })).toEqual([]);
  });

  it('an absence whose beginning or end is a placeholder (year 1, year 9999) is joined only to days that the consumer holds', () => {
    const march: Days = { from: '2026-03-09', to: '2026-03-12' };
    const keys = (from: string, to: string, days = march) => scheduleKeys(absenceOf(from, to), ZONE, days);
    const all = ['09', '10', '11', '12'].map((day) => `anna|2026-03-${day}`);
    // 23:59 in UTC is in the year 10000 in Oslo; the last two are the least and the greatest that a topic can hold.
    for (const end of ['9999-12-31T00:00:00Z', '9999-12-31T23:59:59Z', '+275760-09-13T00:00:00Z']) {
      expect(keys('2026-03-11T08:00:00Z', end)).toEqual(all.slice(1));
      for (const begin of ['0001-01-01T00:00:00Z', '0999-12-31T00:00:00Z', '-271821-04-20T00:00:00Z']) {
        expect(keys(begin, end)).toEqual(all);
      }
    }
    const lastDays: Days = { from: '9999-12-30', to: '9999-12-31' };
    expect(keys('2026-03-11T08:00:00Z', '9999-12-31T23:59:59Z', lastDays)).toEqual([
      'anna|9999-12-30',
      'anna|9999-12-31',
    ]);
    expect(keys('9999-12-30T08:00:00Z', '9999-12-31T23:59:59Z')).toEqual([]);
    expect(keys('0001-01-01T00:00:00Z', '2026-03-01T00:00:00Z')).toEqual([]);
  });

  it('the keys lead to every lesson that the absence touches, and to no later day, in each time zone', () => {
    const zones = fc.constantFrom(
      ZONE,
      'UTC',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Pacific/Kiritimati',
    );
    const instants = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2026-12-31') });
    const spans = fc.integer({ min: 1, max: 4 * DAY_MS });
    const lessonSpans = fc.integer({ min: 1, max: 12 * HOUR_MS });
    const student = fc.string({ unit: fc.constantFrom('a', '|', '%', '7', 'C') });
    // An absence may have neither a real beginning nor a real end.
    const begins = fc.option(fc.constantFrom(...['0001-01-01', '0999-12-31', '1000-01-01'].map(Date.parse)));
    const ends = fc.option(fc.constantFrom(...['9999-12-31', '9999-12-31T23:59:59Z'].map(Date.parse)));
    fc.assert(
      fc.property(
        fc.record({ zone: zones, from: instants, span: spans, long: lessonSpans, id: student, at: fc.nat() }),
        fc.record({ begin: begins, end: ends }),
        ({ zone, from, span, long, id, at }, { begin, end }) => {
          const absence = {
            ...absenceOf(null, null),
            fromTime: begin ?? from,
            toTime: end ?? from + span,
            student: { sourcedId: id },
          };
          // any lesson that overlaps the real part of the absence
          const start = from - long + 1 + (at % (span + long - 1));
          const lesson = { id: 'l', start, end: start + long, classes: null };
          const clock = createZoneClock(zone);
          const keys = keysOf(absence, zone);
          expect(lessonsOf(absence, [{ lessons: [lesson] }])).toEqual([lesson]);
          expect(keys).toContain(compositeKey(id, clock.dateAt(start)));
          const last = end === null ? clock.dateAt(from + span - 1) : held.to;
          expect(keys.at(-1)).toBe(compositeKey(id, last));
          expect(new Set(keys).size).toBe(keys.length);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

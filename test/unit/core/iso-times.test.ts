import { expect, it } from 'vitest';
import { isoTimes } from '../../../src/core/avro/iso-times.ts';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';

const schemas = readSchemaFiles();
const shown = (topic: 'schedules' | 'absences', value: object) =>
  isoTimes(schemas.get(topic) ?? 'null')(value);

it('a value is printed with its times and days as ISO 8601, however deep, and otherwise unchanged', () => {
  const startMs = Date.parse('2026-11-20T07:15:00Z');
  const lesson = { id: '1', start: startMs, end: null, classes: [{ sourcedId: 'k' }], raw: '{"start":1}' };
  expect(shown('schedules', { student: 's', date: (startMs / 86_400_000) | 0, lessons: [lesson] })).toEqual({
    student: 's',
    date: '2026-11-20',
    lessons: [{ ...lesson, start: '2026-11-20T07:15:00.000Z' }],
  });
});

it('a number that is no time, and a field that is not in the schema, are printed unchanged', () => {
  expect(shown('absences', { fromTime: 9e15, toTime: 0, later: 5 })).toEqual({
    fromTime: 9e15,
    toTime: '1970-01-01T00:00:00.000Z',
    later: 5,
  });
});

it('no schema uses one name for a time in one place and for another number in another place', () => {
  for (const [topic, schema] of schemas) {
    const text = JSON.stringify(schema);
    const namesOf = (type: string) =>
      [...text.matchAll(new RegExp(`"name":"(\\w+)","type":(?:\\["null",)?${type}`, 'g'))].map(
        ([, name]) => name,
      );
    const times = new Set(namesOf('\\{"type":"(?:long|int)","logicalType"'));
    expect([topic, namesOf('"(?:long|int|double|float)"').filter((name) => times.has(name))]).toEqual([
      topic,
      [],
    ]);
  }
});

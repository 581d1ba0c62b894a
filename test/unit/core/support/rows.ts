import { strictFieldsOf } from '../../../../src/core/rows/mapping-rules.ts';
import type {
  ReadableRow,
  DecodedRow,
  RowReader,
  UnreadableRow,
} from '../../../../src/core/rows/decoded-row.ts';
import { createRowReader, type RowReaderOptions } from '../../../../src/core/rows/row-reader.ts';
import type { AvroRecord } from '../../../../src/model/avro-schema.ts';
import type { TopicSuffix } from '../../../../src/model/collections.ts';
import { readSchemaFiles } from '../../../../src/log/registry/schema-files.ts';

const FILES = readSchemaFiles();

export function schemaOf(suffix: TopicSuffix): AvroRecord {
  const schema = FILES.get(suffix);
  if (schema === undefined) throw new Error(`no schema for ${suffix}`);
  return schema;
}

export function usersReader(options: Partial<RowReaderOptions> = {}): RowReader {
  return createRowReader({ schema: schemaOf('users'), ...options });
}

export function absencesReader(options: Partial<RowReaderOptions> = {}): RowReader {
  return createRowReader({
    schema: schemaOf('absence-versions'),
    strictFields: strictFieldsOf('absence-versions'),
    ...options,
  });
}

/** A value with its fields, for assertions. */
export type Fields = Record<string, unknown> & { readonly additionalFields: string | null };

export function readable(reading: DecodedRow): ReadableRow & { readonly value: Fields } {
  if (reading.kind !== 'row') throw new Error(`refused: ${reading.reason}`);
  return reading as ReadableRow & { readonly value: Fields };
}

export function refused(reading: DecodedRow): UnreadableRow {
  if (reading.kind !== 'reject') throw new Error('the row was read');
  return reading;
}

export function hashOf(reader: RowReader, row: unknown): string {
  return readable(reader.read(row)).hash.toString('hex');
}

export function reference(type: string, sourcedId: string): Record<string, unknown> {
  return { href: `https://hub.example/north/${type}s/${sourcedId}`, sourcedId, type };
}

export const ABSENCE = {
  sourcedId: 'absence-1',
  status: 'active',
  dateLastModified: '2026-03-04T03:00:00.123Z',
  fromTime: '2026-03-04T08:00:00Z',
  toTime: '2026-03-04T09:00:00Z',
  absenceDurationUnit: 'Minutes',
  absenceDurationValue: 45,
  student: reference('user', 'student-1'),
  school: [reference('org', 'school-1')],
  term: reference('academicSession', 'term-1'),
  replaces: null,
  replacedBy: null,
} as const;

export const USER = {
  sourcedId: 'user-1',
  status: 'active',
  dateLastModified: '2026-03-04T03:00:00.123Z',
  enabledUser: 'true',
  givenName: 'Testa',
  familyName: 'Testesen',
  userIds: [
    { type: 'a', identifier: '1' },
    { type: 'b', identifier: '2' },
  ],
  roles: [
    { roleType: 'primary', role: 'student', org: reference('org', 'school-1'), beginDate: '2025-08-01' },
    { roleType: 'secondary', role: 'student', org: reference('org', 'school-2') },
  ],
  grades: ['8', '9'],
} as const;

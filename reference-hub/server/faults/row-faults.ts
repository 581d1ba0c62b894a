import type { JsonObject, JsonValue } from '../../json.ts';
import { isJsonObject, textOf } from '../../json.ts';
import { hashText } from '../../random.ts';
import type { Fault } from './fault.ts';
import { numberIn } from './fault.ts';

const BOOLEANS: Readonly<Record<string, readonly string[]>> = {
  users: ['enabledUser'],
  enrollments: ['primary'],
  results: ['inProgress', 'incomplete', 'late', 'missing'],
  'assessment-results': ['inProgress', 'incomplete', 'late', 'missing'],
};

/** Fields a standard hub may send as null instead of leaving them out. */
const NULLABLE = [
  'middleName',
  'identifier',
  'parent',
  'classesAffected',
  'deletedTime',
  'score',
  'comment',
  'gradingPeriod',
  'metadata',
];

/** Rows that look different, or cannot be read. */
export const ROW_FAULTS: readonly Fault[] = [
  {
    name: 'real-booleans',
    summary: 'booleans as true and false',
    row: (row, { target }) => mapBooleans(row, { target, to: (truth) => truth }),
  },
  {
    name: 'number-booleans',
    summary: 'booleans as 1 and 0',
    row: (row, { target }) => mapBooleans(row, { target, to: (truth) => (truth ? 1 : 0) }),
  },
  {
    name: 'explicit-nulls',
    summary: 'null for fields that are otherwise left out',
    row: (row) => ({ ...Object.fromEntries(NULLABLE.map((field) => [field, null])), ...defined(row) }),
  },
  {
    name: 'unknown-fields',
    summary: 'a field and a metadata entry that no standard knows',
    row: (row) => ({
      ...row,
      'x-shoeSize': 42,
      metadata: { ...(isJsonObject(row['metadata']) ? row['metadata'] : {}), 'x.extra': ['a', 1] },
    }),
  },
  {
    name: 'malformed-rows',
    summary:
      'this share of the rows cannot be read: no id, an id that is a number, or times that are not times',
    value: { meaning: 'share', byDefault: '0.05' },
    row: (row, { value, target }) => (chosen(row, numberIn(value)) ? malformed(row, target) : row),
  },
  {
    name: 'relative-hrefs',
    summary: 'href of references without scheme and host',
    row: (row) =>
      mapValues(row, (value, field) =>
        field === 'href' && typeof value === 'string' ? value.replace(/^https?:\/\/[^/]+/, '') : value,
      ),
  },
  {
    name: 'microsecond-stamps',
    summary: 'dateLastModified with six digits',
    row: (row) => ({ ...row, dateLastModified: stamp(row, (text) => text.replace('Z', '321Z')) }),
  },
  {
    name: 'offset-stamps',
    summary: 'dateLastModified with +00:00 instead of Z',
    row: (row) => ({ ...row, dateLastModified: stamp(row, (text) => text.replace('Z', '+00:00')) }),
  },
  {
    name: 'big-numbers',
    summary: 'a number that a double cannot hold',
    rowText: (text) => `${text.slice(0, -1)},"x-big":9007199254740993.25}`,
  },
  {
    name: 'deep-nesting',
    summary: 'an extra field with arrays nested this deep',
    value: { meaning: 'levels', byDefault: '20000' },
    rowText: (text, { value }) =>
      `${text.slice(0, -1)},"x-deep":${'['.repeat(numberIn(value))}${']'.repeat(numberIn(value))}}`,
  },
];

function malformed(row: JsonObject, target: string): JsonObject {
  const kind = hashText(textOf(row['sourcedId']))[1] % 3;
  if (target === 'absences' && kind === 0) return { ...row, fromTime: 'a quarter past nine' };
  if (target === 'absences' && kind === 1) return { ...row, replacedBy: 'not a reference' };
  return kind === 2 ? { ...row, sourcedId: undefined } : { ...row, sourcedId: 17 };
}

/** The same rows every time, so that what is unreadable stays so. */
function chosen(row: JsonObject, share: number): boolean {
  return hashText(textOf(row['sourcedId']))[0] / 4294967296 < share;
}

function stamp(row: JsonObject, change: (text: string) => string): JsonValue | undefined {
  const text = row['dateLastModified'];
  return typeof text === 'string' ? change(text) : text;
}

function mapBooleans(
  row: JsonObject,
  options: { target: string; to: (truth: boolean) => JsonValue },
): JsonObject {
  const fields =
    BOOLEANS[options.target] ??
    (['students', 'teachers', 'class-students', 'afterschool-users'].includes(options.target)
      ? ['enabledUser']
      : []);
  const mapped = { ...row };
  for (const field of fields) {
    const value = mapped[field];
    if (value === 'true' || value === true) mapped[field] = options.to(true);
    if (value === 'false' || value === false) mapped[field] = options.to(false);
  }
  return mapped;
}

function defined(row: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

function mapValues(
  row: JsonObject,
  change: (value: JsonValue | undefined, field: string) => JsonValue | undefined,
): JsonObject {
  const scan = (value: JsonValue | undefined, field: string): JsonValue | undefined => {
    if (Array.isArray(value)) return value.map((item) => scan(item, field) ?? null);
    if (isJsonObject(value)) return mapValues(value, change);
    return change(value, field);
  };
  return Object.fromEntries(Object.entries(row).map(([field, value]) => [field, scan(value, field)]));
}

import { readdirSync } from 'node:fs';

import avro from 'avsc';
import { expect, it } from 'vitest';

import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import type { AvroField, AvroSchema } from '../../../src/model/avro-schema.ts';
import { COLLECTIONS, OWN_TOPICS, ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';

const FILES = readSchemaFiles();
const SUFFIXES = [...COLLECTIONS, ...OWN_TOPICS];

function fileOf(suffix: (typeof SUFFIXES)[number]): { text: string; fields: readonly AvroField[] } {
  const schema = FILES.get(suffix);
  if (schema === undefined) throw new Error(`no schema for ${suffix}`);
  return { text: JSON.stringify(schema), fields: schema.fields };
}

/** Every field in a schema. */
function fieldsIn(schema: AvroSchema): AvroField[] {
  if (typeof schema === 'string') return [];
  if (!('type' in schema)) return schema.flatMap(fieldsIn);
  const fields = schema.fields ?? [];
  const inner = [...fields.map(({ type }) => type), schema.items, schema.values];
  return [...fields, ...inner.flatMap((type) => (type === undefined ? [] : fieldsIn(type)))];
}

it('each schema file belongs to a topic', () => {
  const used = new Set([...FILES.values()].map(({ name }) => name));
  expect(readdirSync(new URL('../../../avro/', import.meta.url))).toHaveLength(used.size);
});

it('each Avro type has the same fields in all schema files', () => {
  const shapes = new Map<string, string>();
  const typeHook = (schema: unknown): undefined => {
    const definition = schema as { name?: string };
    if (definition.name === undefined) return;
    const shape = JSON.stringify(schema, (key, value: unknown) =>
      key === 'doc' ? undefined : withoutBodies(value, definition),
    );
    expect(shapes.get(definition.name) ?? shape).toBe(shape);
    shapes.set(definition.name, shape);
  };
  for (const schema of FILES.values())
    avro.Type.forSchema(schema as avro.Schema, { strictDefaults: true, typeHook } as never);
  expect(shapes.size).toBeGreaterThan(16);
});

/** Replaces a nested definition by its name, because files spell it out in different places. */
function withoutBodies(value: unknown, root: object): unknown {
  if (value === root || typeof value !== 'object' || value === null || !('fields' in value)) return value;
  return (value as { name?: string }).name;
}

it.each(SUFFIXES)(
  'the schema of %s is self-contained, has no enum, and requires only ids and counts',
  (suffix) => {
    const { text } = fileOf(suffix);
    const parse = () => avro.Type.forSchema(JSON.parse(text) as avro.Schema);
    expect(parse().name).toMatch(/^rollcall\.[A-Z]\w+$/);
    expect(() => parse().createResolver(parse())).not.toThrow();
    const all = fieldsIn(JSON.parse(text) as AvroSchema);
    const required = all.flatMap(({ name, default: fallback }) => (fallback === undefined ? name : []));
    const ids = 'sourcedId collection classId absenceId version student date syncId startedAt rows';
    const named = new Set(`${ids} rowsNotFound rowsRejected rowsWithoutId rowsOnHold`.split(' '));
    expect(required.filter((name) => !named.has(name))).toEqual([]);
    expect(text).not.toContain('"enum"');
  },
);

it.each(ROW_COLLECTIONS)('the schema of %s begins and ends with the common fields', (collection) => {
  const { fields } = fileOf(collection);
  expect(fields.slice(0, 3).map(({ name }) => name)).toEqual(['sourcedId', 'status', 'dateLastModified']);
  const type = ['null', 'string'];
  expect(fields.at(-1)).toMatchObject({ name: 'additionalFields', type, default: null });
});

it('the schema of absences has the absence id, and then the fields of absence-versions', () => {
  const withoutDoc = (field: AvroField) => ({ ...field, doc: undefined });
  const [id, ...fields] = fileOf('absences').fields.map(withoutDoc);
  expect(id).toEqual({ name: 'absenceId', type: 'string' });
  expect(fields).toEqual(fileOf('absence-versions').fields.map(withoutDoc));
});

it('a value that does not fit its schema is not encoded, and truncated bytes are not decoded', () => {
  const codec = createValueCodec(FILES.get('progress') ?? 'null');
  expect(() => codec.toBuffer({ collection: 'users', sequence: 'seven' })).toThrow('seven');
  expect(() => codec.fromBuffer(Buffer.from([1, 2, 3]))).toThrow('truncated');
});

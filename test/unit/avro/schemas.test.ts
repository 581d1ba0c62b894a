import { readdirSync } from 'node:fs';

import avro from 'avsc';
import { describe, expect, it } from 'vitest';

import { createValueCodec } from '../../../src/core/value-codec.ts';
import type { AvroField, AvroSchema } from '../../../src/model/avro-schema.ts';
import { COLLECTIONS, OWN_TOPICS, ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';

const FILES = readSchemaFiles();
const SUFFIXES = [...COLLECTIONS, ...OWN_TOPICS];

function fileOf(suffix: (typeof SUFFIXES)[number]): { text: string; fields: readonly AvroField[] } {
  const file = FILES.get(suffix);
  if (file === undefined) throw new Error(`no schema for ${suffix}`);
  return { text: file.text, fields: file.schema.fields };
}

/** Every field in a schema. */
function fieldsIn(schema: AvroSchema): AvroField[] {
  if (typeof schema === 'string') return [];
  if (!('type' in schema)) return schema.flatMap(fieldsIn);
  const fields = schema.fields ?? [];
  const inner = [...fields.map(({ type }) => type), schema.items, schema.values];
  return [...fields, ...inner.flatMap((type) => (type === undefined ? [] : fieldsIn(type)))];
}

describe('the schema files', () => {
  it('each file belongs to a topic', () => {
    const used = new Set([...FILES.values()].map(({ schema }) => schema.name));
    expect(readdirSync(new URL('../../../avro/', import.meta.url))).toHaveLength(used.size);
  });

  it('each name has one shape', () => {
    const shapes = new Map<string, string>();
    for (const { text } of FILES.values()) {
      avro.Type.forSchema(
        JSON.parse(text) as avro.Schema,
        {
          strictDefaults: true,
          typeHook: (schema: unknown) => {
            const definition = schema as { name?: string };
            if (definition.name === undefined) return undefined;
            const shape = JSON.stringify(schema, (key, value: unknown) =>
              key === 'doc' ? undefined : withoutBodies(value, definition),
            );
            expect(shapes.get(definition.name) ?? shape).toBe(shape);
            shapes.set(definition.name, shape);
            return undefined;
          },
        } as never,
      );
    }
    expect(shapes.size).toBeGreaterThan(16);
  });
});

/** Replaces a nested definition by its name, because files spell it out in different places. */
function withoutBodies(value: unknown, root: object): unknown {
  if (value === root || typeof value !== 'object' || value === null || !('fields' in value)) return value;
  return (value as { name?: string }).name;
}

describe.each(SUFFIXES)('%s', (suffix) => {
  it('can be registered by itself, and its defaults fit', () => {
    const { text } = fileOf(suffix);
    const type = avro.Type.forSchema(JSON.parse(text) as avro.Schema);
    expect(type.name).toMatch(/^rollcall\.[A-Z]\w+$/);
    expect(() => type.createResolver(avro.Type.forSchema(JSON.parse(text) as avro.Schema))).not.toThrow();
  });

  it('has no field without a default but ids and the like, so that a later version may drop it', () => {
    const all = fieldsIn(JSON.parse(fileOf(suffix).text) as AvroSchema);
    const required = all.flatMap(({ name, default: fallback }) => (fallback === undefined ? name : []));
    const ids = 'sourcedId collection classId absenceId version student date syncId startedAt rows';
    const named = new Set(`${ids} rowsRejected rowsWithheld`.split(' '));
    expect(required.filter((name) => !named.has(name))).toEqual([]);
  });

  it('has no enum, since no later version could add a symbol to one', () => {
    expect(fileOf(suffix).text).not.toContain('"enum"');
  });
});

describe.each(ROW_COLLECTIONS)('rows of %s', (collection) => {
  it('begin with id, status and modification time, and end with a place for unknown fields', () => {
    const { fields } = fileOf(collection);
    expect(fields.slice(0, 3).map(({ name }) => name)).toEqual(['sourcedId', 'status', 'dateLastModified']);
    expect(fields.at(-1)).toMatchObject({
      name: 'additionalFields',
      type: { type: 'map', values: 'string' },
      default: {},
    });
  });
});

it('a value that does not fit its schema is not encoded, and one cut short is not decoded', () => {
  const codec = createValueCodec(FILES.get('progress')?.schema ?? 'null');
  expect(() => codec.toBuffer({ collection: 'users', sequence: 'seven' })).toThrow('seven');
  expect(() => codec.fromBuffer(Buffer.from([1, 2, 3]))).toThrow('truncated');
});

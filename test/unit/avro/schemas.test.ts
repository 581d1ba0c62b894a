import { readdirSync } from 'node:fs';

import avro from 'avsc';
import { describe, expect, it } from 'vitest';

import { createRowReader } from '../../../src/core/row-reader.ts';
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

/** Visits every record and field in a schema. */
function scan(
  schema: AvroSchema,
  visit: { record: (name: string) => void; field: (field: AvroField) => void },
): void {
  if (typeof schema === 'string') return;
  if (!('type' in schema)) {
    for (const branch of schema) scan(branch, visit);
    return;
  }
  if (schema.name !== undefined) visit.record(schema.name);
  for (const field of schema.fields ?? []) {
    visit.field(field);
    scan(field.type, visit);
  }
  for (const inner of [schema.items, schema.values]) if (inner !== undefined) scan(inner, visit);
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
    const required: string[] = [];
    const { text } = fileOf(suffix);
    scan(JSON.parse(text) as AvroSchema, {
      record: () => undefined,
      field: ({ name, default: fallback }) => {
        if (fallback === undefined) required.push(name);
      },
    });
    const ids = new Set([
      'sourcedId',
      'collection',
      'classId',
      'absenceId',
      'version',
      'student',
      'date',
      'syncId',
      'startedAt',
      'rows',
      'rowsRejected',
      'rowsWithheld',
    ]);
    expect(required.filter((name) => !ids.has(name))).toEqual([]);
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

  it('can be decoded by a reader of the schema', () => {
    const file = FILES.get(collection);
    expect(
      file === undefined ? null : createRowReader({ schema: file.schema }).read({ sourcedId: 'a' }).kind,
    ).toBe('row');
  });
});

describe("Rollcall's own values", () => {
  it('a progress record is decoded as it was encoded', () => {
    const file = FILES.get('progress');
    const codec = createValueCodec(file?.schema ?? 'null');
    const empty = Object.fromEntries(
      (file?.schema.fields ?? []).map(({ name, default: fallback }) => [name, fallback]),
    );
    const full = {
      syncId: 'p',
      startedAt: 1_772_600_767_123,
      offsets: { 'a/0': 9_007_199_254_740_000 },
      rows: 1,
      rowsRejected: 0,
      rowsWithheld: 0,
    };
    const progress = {
      ...empty,
      collection: 'users',
      sequence: 7,
      complete: true,
      offsets: { 'a/0': 0, 'b/2': 5 },
      lastCompleteFull: full,
    };
    expect(JSON.parse(JSON.stringify(codec.fromBuffer(codec.toBuffer(progress))))).toEqual(progress);
    const owner = { ...empty, collection: '@owner', owner: 'x', ownedSince: 1 };
    expect(JSON.parse(JSON.stringify(codec.fromBuffer(codec.toBuffer(owner))))).toEqual(owner);
    expect(() => codec.toBuffer({ ...progress, sequence: 'seven' })).toThrow('seven');
    expect(() => codec.fromBuffer(Buffer.from([1, 2, 3]))).toThrow('truncated');
  });
});

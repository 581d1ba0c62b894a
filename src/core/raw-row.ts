import { isDefinition, type AvroRecord, type AvroSchema } from '../model/avro-schema.ts';
import { parseLossless } from './lossless-json.ts';

/**
 * Restores the row of the hub from a published value, as far as the value holds it: times in UTC with milliseconds, the
 * contents of `additionalFields` unchanged. Decoding the result under the same mapping gives the same value.
 */
export type RawRow = (value: object) => Record<string, unknown>;

type ToRaw = (typed: unknown) => unknown;

/** Compiles {@link RawRow} for values of a row schema. */
export function createRawRow(schema: AvroRecord): RawRow {
  const definitions = new Map<string, ToRaw>();
  const fields = schema.fields
    .filter(({ name }) => name !== 'additionalFields')
    .map(({ name, type }) => [name, compile(type, definitions)] as const);
  return (value) => {
    const source = value as Readonly<Record<string, unknown>>;
    const row = rawObject(fields, source);
    const texts = (source['additionalFields'] ?? {}) as Readonly<Record<string, string>>;
    for (const [name, text] of Object.entries(texts)) row[name] = parseLossless(text);
    return row;
  };
}

function rawObject(
  fields: readonly (readonly [string, ToRaw])[],
  source: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  // Without a prototype, `__proto__` is an ordinary key.
  const row = Object.create(null) as Record<string, unknown>;
  for (const [name, toRaw] of fields) {
    const typed = source[name] ?? null;
    if (typed !== null) row[name] = toRaw(typed);
  }
  return row;
}

function compile(schema: AvroSchema, definitions: Map<string, ToRaw>): ToRaw {
  if (typeof schema === 'string') return definitions.get(schema) ?? unchanged;
  if (!isDefinition(schema)) return compile(schema[1] ?? 'null', definitions);
  if (schema.logicalType === 'timestamp-millis') return (ms) => new Date(Number(ms)).toISOString();
  if (schema.logicalType === 'date')
    return (days) => new Date(Number(days) * DAY_MS).toISOString().slice(0, 10);
  if (schema.type === 'array' && schema.items !== undefined) {
    const item = compile(schema.items, definitions);
    return (items) => (items as readonly unknown[]).map(item);
  }
  if (schema.type === 'record') {
    const fields = (schema.fields ?? []).map(({ name, type }) => [name, compile(type, definitions)] as const);
    const toRaw: ToRaw = (record) => rawObject(fields, record as Readonly<Record<string, unknown>>);
    if (schema.name !== undefined) definitions.set(schema.name, toRaw);
    return toRaw;
  }
  return compile(schema.type, definitions);
}

const DAY_MS = 86_400_000;

function unchanged(typed: unknown): unknown {
  return typed;
}

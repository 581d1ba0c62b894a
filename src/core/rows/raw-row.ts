import type { AvroRecord } from '../../model/avro-schema.ts';
import { compileFields, type CompiledField } from '../avro/compile-schema.ts';
import { parseLossless } from './lossless-json.ts';
import { formatDate } from './timestamps.ts';

/**
 * Restores the row of the hub from a published value, as far as the value still holds it: times are in UTC with
 * milliseconds, and the contents of `additionalFields` are unchanged. Decoding the result under the
 * same mapping gives the same value.
 */
export type RawRow = (value: object) => Record<string, unknown>;

type ToRaw = (typed: unknown) => unknown;

/** Compiles {@link RawRow} for values of a row schema. */
export function createRawRow(schema: AvroRecord): RawRow {
  const typed = schema.fields.filter(({ name }) => name !== 'additionalFields');
  const fields = compileFields<ToRaw>(typed, {
    scalar: scalarToRaw,
    nullable: (toRaw) => toRaw,
    array: (toRaw) => (items) => (items as readonly unknown[]).map(toRaw),
    record: (members) => (record) => rawObject(members, record as Readonly<Record<string, unknown>>),
  });
  return (value) => {
    const source = value as Readonly<Record<string, unknown>>;
    const row = rawObject(fields, source);
    const additional = source['additionalFields'] as string | null | undefined;
    return additional == null ? row : Object.assign(row, parseLossless(additional));
  };
}

function rawObject(
  fields: readonly CompiledField<ToRaw>[],
  source: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  // Without a prototype, `__proto__` is an ordinary key.
  const row = Object.create(null) as Record<string, unknown>;
  for (const { name, compiled: toRaw } of fields) {
    const typed = source[name] ?? null;
    if (typed !== null) row[name] = toRaw(typed);
  }
  return row;
}

function scalarToRaw(type: string): ToRaw {
  if (type === 'timestamp-millis') return (ms) => new Date(Number(ms)).toISOString();
  if (type === 'date') return (days) => formatDate(Number(days));
  return (typed) => typed;
}

import type { AvroField, AvroRecord } from '../../model/avro-schema.ts';
import { compileFields, type CompiledField } from '../avro/compile-schema.ts';
import { SCALAR_BYTES_AT_MOST } from '../avro/prefixed-text.ts';
import { isJsonObject } from './raw-json.ts';
import { parseDate, parseTimestamp } from './timestamps.ts';

/** What a reader returns for a value that does not fit its type. */
export const MISFIT: unique symbol = Symbol('misfit');

/**
 * Converts a JSON value other than null to the value that core/avro/avro-writer.ts writes, or {@link MISFIT}. If a
 * reader begins to read a value differently, the hash of the row changes, and every such row is published again: see
 * `MAPPING_VERSION`.
 */
export type FieldReader = (raw: unknown) => unknown;

/** What readers report besides the value. The object is shared, not returned, so that nothing is allocated for each value. */
export interface ReadNotes {
  /** Set when the typed value holds less than the raw one. */
  lossy: boolean;
  /** Upper bound of the Avro bytes of the values read so far. */
  bytesAtMost: number;
}

/** Name and reader of each field of a row's schema, in its order. */
export function compileFieldReaders(schema: AvroRecord, notes: ReadNotes): Map<string, FieldReader> {
  const typed = schema.fields.filter((field) => field.name !== 'additionalFields');
  const fields = compileFields<FieldReader>(typed, {
    scalar: (type) => scalarReader(type, notes),
    nullable: (read) => read,
    array: (readItem) => arrayReader(readItem, notes),
    record: (members) => recordReader(members, notes),
  });
  return new Map(fields.map(({ name, compiled }) => [name, compiled]));
}

function scalarReader(type: string, notes: ReadNotes): FieldReader | undefined {
  switch (type) {
    case 'string':
      return (raw) => readString(raw, notes);
    case 'double':
      return readDouble;
    case 'boolean':
      return readBoolean;
    case 'timestamp-millis':
      return (raw) => readTimestamp(raw, notes);
    case 'date':
      return readDate;
    default:
      return undefined;
  }
}

function readString(raw: unknown, notes: ReadNotes): unknown {
  // A lone surrogate has no UTF-8 form: consumers would get another character.
  if (typeof raw !== 'string' || !raw.isWellFormed()) return MISFIT;
  notes.bytesAtMost += raw.length * 3;
  return raw;
}

/** A number that a double cannot hold arrives as raw JSON, and does not fit. */
function readDouble(raw: unknown): unknown {
  return typeof raw === 'number' && Number.isFinite(raw) ? raw : MISFIT;
}

/** Reads `true`, 1 and `"true"` in any case, and likewise false: OneRoster sends text, hubs send all of these. */
export function readBoolean(raw: unknown): unknown {
  if (typeof raw === 'boolean') return raw;
  if (raw === 1) return true;
  if (raw === 0) return false;
  if (typeof raw !== 'string' || raw.length > 5) return MISFIT;
  const text = raw.toLowerCase();
  if (text === 'true') return true;
  return text === 'false' ? false : MISFIT;
}

function readTimestamp(raw: unknown, notes: ReadNotes): unknown {
  if (typeof raw !== 'string') return MISFIT;
  const read = parseTimestamp(raw);
  if (typeof read === 'number') return read;
  if (read === null) return MISFIT;
  if (!read.exact) notes.lossy = true;
  return read.ms;
}

function readDate(raw: unknown): unknown {
  if (typeof raw !== 'string') return MISFIT;
  const day = parseDate(raw);
  return Number.isNaN(day) ? MISFIT : day;
}

/** If one element does not fit (null does not either), the whole array does not fit: a shorter array would be wrong. */
function arrayReader(readItem: FieldReader, notes: ReadNotes): FieldReader {
  return (raw) => {
    if (!Array.isArray(raw)) return MISFIT;
    const items: unknown[] = [];
    for (const element of raw as readonly unknown[]) {
      const item = element === null ? MISFIT : readItem(element);
      if (item === MISFIT) return MISFIT;
      items.push(item);
    }
    notes.bytesAtMost += items.length * SCALAR_BYTES_AT_MOST;
    return items;
  };
}

/** Unknown members, and members that do not fit, set `lossy`. Only a missing required member makes the record a misfit. */
function recordReader(fields: readonly CompiledField<FieldReader>[], notes: ReadNotes): FieldReader {
  const members = new Map(fields.map(({ name, compiled }) => [name, compiled]));
  const required = fields.filter((field) => field.default === undefined).map((field) => field.name);
  const template = emptyRecord(fields);
  return (raw) => {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return MISFIT;
    const source = raw as Record<string, unknown>;
    const record = { ...template };
    for (const name in source) {
      const value = source[name];
      if (value === null || value === undefined) continue;
      const read = members.get(name);
      if (read === undefined) {
        if (!isJsonObject(raw)) return MISFIT;
        notes.lossy = true;
        continue;
      }
      const typed = read(value);
      if (typed === MISFIT) notes.lossy = true;
      else record[name] = typed;
    }
    for (const name of required) if (isBlank(record[name])) return MISFIT;
    notes.bytesAtMost += fields.length * SCALAR_BYTES_AT_MOST;
    return record;
  };
}

/** A record with all fields null: copying it costs less than adding the fields one by one. */
export function emptyRecord(fields: readonly AvroField[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field.name, null]));
}

/** Whether an identifier identifies nothing: null, empty, or white space alone. */
export function isBlank(value: unknown): boolean {
  if (typeof value !== 'string') return true;
  return !(value.charCodeAt(0) > 32) && value.trim() === '';
}

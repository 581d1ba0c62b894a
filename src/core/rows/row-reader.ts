import type { AvroRecord } from '../../model/avro-schema.ts';
import { additionalFieldsOf, additionalText, type AdditionalField } from './additional-fields.ts';
import { createWriter, intoOneBuffer } from '../avro/avro-writer.ts';
import { SCALAR_BYTES_AT_MOST } from '../avro/prefixed-text.ts';
import { createContentHash, type RowMapping } from './content-hash.ts';
import {
  compileFieldReaders,
  emptyRecord,
  type FieldReader,
  isBlank,
  MISFIT,
  type ReadNotes,
} from './field-readers.ts';
import { mappingIdOf, OWN_FIELDS, type StrictField } from './mapping-rules.ts';
import { createMask } from './pseudonymise.ts';
import { isJsonObject } from './raw-json.ts';
import { createRawRow } from './raw-row.ts';
import { MAX_RECORD_BYTES, type DecodedRow, type RowReader } from './decoded-row.ts';
import { createRejectReader } from './unreadable-row.ts';
import { isNoTime } from './timestamps.ts';

/** The longest id, in bytes of UTF-8. A record's key must leave room for its value; ids of hubs are far shorter. */
const MAX_ID_BYTES = 1_000;

export interface RowReaderOptions extends Partial<RowMapping> {
  /** The collection's schema in avro/. */
  readonly schema: AvroRecord;
  /** `strictFieldsOf(collection)`. */
  readonly strictFields?: readonly StrictField[] | undefined;
  /** Required when anything is pseudonymised. */
  readonly pseudonymiseKey?: string | undefined;
  /** Whether rows keep their student's own id; see {@link ReadableRow.studentId}. */
  readonly keepsStudent?: boolean | undefined;
  /** Rows whose Avro body is larger go to `rejects`. */
  readonly maxRecordBytes?: number | undefined;
}

/** What happens to a field of the row that the schema has. */
interface FieldRule {
  readonly read: FieldReader;
  /** A later version has added it to the schema: it stays among the additional fields, too. */
  readonly isAdded: boolean;
  readonly strict: StrictField | null;
}

/** A row during decoding. */
interface Draft {
  readonly value: Record<string, unknown>;
  additional: AdditionalField[] | null;
  problems: string[] | null;
}

const NONE: readonly AdditionalField[] = [];

/**
 * Compiles the decoder of a collection's rows (contract, "Values" and "Re-stamps"; design, "What counts as a
 * change"). It takes rows from `parseLossless` and does not change them, but values may share parts with them.
 *
 * Throws if the key for pseudonyms is missing, which the configuration refuses.
 */
export function createRowReader(options: RowReaderOptions): RowReader {
  const { schema, strictFields = [], pseudonymiseKey = '', maxRecordBytes = MAX_RECORD_BYTES } = options;
  const { drop = [], pseudonymise = [], ignore = [] } = options;
  const mapping = { drop, pseudonymise, ignore };
  const notes: ReadNotes = { lossy: false, bytesAtMost: 0 };
  const own = [...OWN_FIELDS].filter(([name]) => schema.fields.some((field) => field.name === name));
  const hubSchema = { ...schema, fields: schema.fields.filter(({ name }) => !OWN_FIELDS.has(name)) };
  const known = new Set(
    hubSchema.fields.flatMap(({ name, since }) =>
      name === 'additionalFields' || since !== undefined ? [] : name,
    ),
  );
  const mask = createMask({ ...mapping, pseudonymiseKey });
  const fill = createFill(hubSchema, { known, strictFields, notes });
  const template = emptyRecord(schema.fields);
  const contentHash = createContentHash(hubSchema, mapping);
  const reject = createRejectReader(mapping, maxRecordBytes);
  const encodeShared = intoOneBuffer(createWriter(schema.fields));
  const rawRow = createRawRow(hubSchema);

  function read(row: unknown): DecodedRow {
    if (!isJsonObject(row)) return reject(row, { sourcedId: null, reason: 'the row is not an object' });
    const draft: Draft = { value: { ...template }, additional: null, problems: null };
    notes.bytesAtMost = schema.fields.length * SCALAR_BYTES_AT_MOST;
    const masked = mask(row);
    fill(draft, masked);
    const { value, additional } = draft;
    const problems = problemsOf(draft, { source: row, strictFields });
    const sourcedId = readableId(value);
    if (problems !== null || sourcedId === null) {
      return reject(masked, { sourcedId, reason: (problems ?? []).join('; ') });
    }
    for (const [name, valueOf] of own) {
      value[name] = valueOf(value);
      // The added value may repeat any part of the row, so the bound doubles.
      notes.bytesAtMost *= 2;
    }
    if (notes.bytesAtMost > maxRecordBytes && encodeShared(value).length > maxRecordBytes) {
      return reject(masked, {
        sourcedId,
        reason: `its Avro value has more than ${maxRecordBytes} bytes, which is too large for a record`,
      });
    }
    return {
      kind: 'row',
      sourcedId,
      value,
      hash: contentHash(value, additional ?? NONE),
      modifiedAtMs: value['dateLastModified'] as number | null,
      studentId: options.keepsStudent === true ? studentOf(row) : undefined,
    };
  }

  return {
    read,
    reject: (row, reason) =>
      isJsonObject(row)
        ? reject(mask(row), { sourcedId: readableId(row), reason })
        : reject(row, { sourcedId: null, reason }),
    rejectValue: (value, reason) => reject(rawRow(value), { sourcedId: readableId({ ...value }), reason }),
    encode: (value) => Buffer.from(encodeShared(value)),
    hashOf(value) {
      const whole = { ...template, ...value };
      return contentHash(whole, additionalFieldsOf(whole['additionalFields'] as string | null, known));
    },
    readAgain: (value) => read(rawRow(value)),
    mapping: mappingIdOf({ ...mapping, pseudonymiseKey }),
  };
}

/** The student of a row before `drop` and `pseudonymise`: absences are kept apart by the real id. */
function studentOf({ student }: Readonly<Record<string, unknown>>): string | null {
  const id = isJsonObject(student) ? student['sourcedId'] : null;
  return typeof id === 'string' && id.isWellFormed() && !isBlank(id) ? id : null;
}

/** Returns the function that types a row's fields, field by field, into a draft. */
function createFill(
  schema: AvroRecord,
  options: { known: ReadonlySet<string>; strictFields: readonly StrictField[]; notes: ReadNotes },
): (draft: Draft, source: Readonly<Record<string, unknown>>) => void {
  const { known, strictFields, notes } = options;
  const strict = new Map(strictFields.map((field) => [field.name, field]));
  const rules = new Map(
    [...compileFieldReaders(schema, notes)].map(([name, read]): [string, FieldRule] => [
      name,
      { read, isAdded: !known.has(name), strict: strict.get(name) ?? null },
    ]),
  );
  return function fill(draft: Draft, source: Readonly<Record<string, unknown>>): void {
    for (const name in source) {
      const raw = source[name];
      if (raw === null || raw === undefined) continue;
      const rule = rules.get(name);
      if (rule === undefined) {
        (draft.additional ??= []).push({ name, raw, known: false });
        continue;
      }
      if (rule.strict?.emptyIsNull === true && (raw === '' || isNoTime(raw))) continue;
      notes.lossy = false;
      const typed = rule.read(raw);
      if (typed !== MISFIT) {
        draft.value[name] = typed;
        if (!notes.lossy && !rule.isAdded) continue;
      } else if (rule.strict !== null) {
        (draft.problems ??= []).push(`\`${name}\` cannot be read as ${rule.strict.shape}`);
        continue;
      }
      (draft.additional ??= []).push({ name, raw, known: !rule.isAdded });
    }
    if (draft.additional === null) return;
    const text = additionalText(draft.additional);
    draft.value['additionalFields'] = text;
    notes.bytesAtMost += (text?.length ?? 0) * 3;
  };
}

function readableId(value: Readonly<Record<string, unknown>>): string | null {
  const { sourcedId } = value;
  if (typeof sourcedId !== 'string' || isBlank(sourcedId)) return null;
  return Buffer.byteLength(sourcedId) <= MAX_ID_BYTES ? sourcedId : null;
}

/** What makes a row unreadable; null if nothing does. */
function problemsOf(
  draft: Draft,
  row: { source: Readonly<Record<string, unknown>>; strictFields: readonly StrictField[] },
): string[] | null {
  const problems = draft.problems ?? [];
  if (readableId(draft.value) === null)
    problems.push('`sourcedId` is missing, or no text that identifies anything');
  for (const { name, required } of row.strictFields) {
    if (required && (row.source[name] ?? null) === null) problems.push(`\`${name}\` is missing`);
  }
  return problems.length === 0 ? null : problems;
}

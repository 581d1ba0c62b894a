import { canonicalText, jsonText } from './json-text.ts';
import { parseLossless } from './lossless-json.ts';
import { SET_FIELDS } from './mapping-rules.ts';

/** A field that goes to `additionalFields`, before it becomes text. */
export interface AdditionalField {
  readonly name: string;
  readonly raw: unknown;
  /** Whether the schema has a field of that name, so that `SET_FIELDS` says in which of its arrays the order means nothing. */
  readonly known: boolean;
}

/** The text of `additionalFields`: a JSON object whose members are in the order of their names; null if there are none. */
export function additionalText(fields: readonly AdditionalField[]): string | null {
  return objectText(fields, ({ raw }) => jsonText(raw));
}

/**
 * The part of {@link additionalText} that counts as content: without some fields, and with each value as canonical
 * text.
 */
export function additionalContent(
  fields: readonly AdditionalField[],
  without: ReadonlySet<string>,
): string | null {
  return objectText(
    fields.filter(({ name }) => !without.has(name)),
    ({ name, raw, known }) => canonicalText(raw, { sets: known ? SET_FIELDS : null }, name),
  );
}

/** The inverse of {@link additionalText}. `known`: the names of the schema's other fields. */
export function additionalFieldsOf(text: string | null, known: ReadonlySet<string>): AdditionalField[] {
  if (text === null) return [];
  const fields = parseLossless(text) as object;
  return Object.entries(fields).map(([name, raw]) => ({ name, raw, known: known.has(name) }));
}

function objectText(
  fields: readonly AdditionalField[],
  textOf: (field: AdditionalField) => string,
): string | null {
  if (fields.length === 0) return null;
  const members = fields
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((field) => `${JSON.stringify(field.name)}:${textOf(field)}`);
  return `{${members.join(',')}}`;
}

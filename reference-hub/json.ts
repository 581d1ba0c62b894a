/** JSON as the hub keeps and serves it. `undefined` fields are left out when a row is rendered. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [field: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text, or nothing where something else stands. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** All values at a dot path; arrays on the way are entered (`roles.org.sourcedId`). */
export function valuesAt(value: JsonValue | undefined, path: readonly string[]): JsonValue[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, path));
  const [field, ...rest] = path;
  if (field === undefined) return [value];
  if (!isJsonObject(value) || !Object.hasOwn(value, field)) return [];
  return valuesAt(value[field], rest);
}

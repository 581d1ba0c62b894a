/** A number that a double cannot hold, with all its digits (ECMAScript "JSON.parse source text access"). */
export interface RawJson {
  readonly rawJSON: string;
}

/** TypeScript's library does not declare these two yet. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
};

/** Makes a value that `JSON.stringify` writes as `text`. Throws on anything but a JSON primitive. */
export function rawJson(text: string): RawJson {
  return json.rawJSON(text);
}

export function isRawJson(value: unknown): value is RawJson {
  return json.isRawJSON(value);
}

/** Whether a parsed value was an object in the JSON text, not an array, null or raw number. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJson(value);
}

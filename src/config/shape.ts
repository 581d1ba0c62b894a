import type { KeyPath } from './problem.ts';

/** The keywords of a JSON Schema that Rollcall reads. */
export interface JsonSchema {
  type?: string | undefined;
  properties?: Record<string, JsonSchema> | undefined;
  propertyNames?: { enum?: string[] | undefined } | undefined;
  required?: string[] | undefined;
  items?: JsonSchema | undefined;
  anyOf?: JsonSchema[] | undefined;
  additionalProperties?: JsonSchema | boolean | undefined;
  description?: string | undefined;
  default?: unknown;
  [keyword: string]: unknown;
}

/** The keys that the map at a path may have, by the schema of the whole file. */
export function keysAt(schema: JsonSchema, path: KeyPath): readonly string[] {
  return schemasAt(schema, path).flatMap(
    ({ properties = {}, propertyNames }) => propertyNames?.enum ?? Object.keys(properties),
  );
}

/**
 * The mechanisms of `kafka.sasl` for which the key at this path is defined, in lower case; none if the path is not
 * within `kafka.sasl`.
 */
export function mechanismsWith(schema: JsonSchema, path: KeyPath): readonly string[] {
  return schemasAt(schema, path.slice(0, -1)).flatMap(({ properties = {} }) => {
    const names = (properties['mechanism']?.['enum'] ?? []) as readonly string[];
    if (properties[String(path.at(-1))] === undefined) return [];
    return names.filter((name) => name === name.toLowerCase());
  });
}

/** The required keys of the map or list at a path, each as a path within this map or list: `hub.baseUrl`. */
export function neededAt(schema: JsonSchema, path: KeyPath): readonly string[] {
  return schemasAt(schema, path).flatMap(neededIn);
}

function neededIn({ items, properties = {}, required = [] }: JsonSchema): readonly string[] {
  if (items !== undefined) return neededIn(items);
  return required.flatMap((key) => {
    const within = neededIn(properties[key] ?? {});
    return within.length === 0 ? [key] : within.map((each) => `${key}.${each}`);
  });
}

function schemasAt(schema: JsonSchema, path: KeyPath): readonly JsonSchema[] {
  return path.reduce<readonly JsonSchema[]>(
    (schemas, part) =>
      schemas.flatMap(({ properties, additionalProperties, items }) => {
        const child = typeof part === 'number' ? items : (properties?.[part] ?? additionalProperties);
        return typeof child === 'object' ? branchesOf(child) : [];
      }),
    branchesOf(schema),
  );
}

function branchesOf(schema: JsonSchema): readonly JsonSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(branchesOf);
}

import { z } from 'zod';
import type { KeyPath } from './problem.ts';

/** The part of JSON Schema that this file reads. */
export interface JsonSchema {
  type?: string | undefined;
  properties?: Record<string, JsonSchema> | undefined;
  propertyNames?: { enum?: string[] | undefined } | undefined;
  items?: JsonSchema | undefined;
  anyOf?: JsonSchema[] | undefined;
  additionalProperties?: JsonSchema | boolean | undefined;
  description?: string | undefined;
  default?: unknown;
  [keyword: string]: unknown;
}

/** Returns the JSON Schema (draft 2020-12) of what a schema reads, with defaults. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  // Through JSON, Zod's schema becomes a plain tree.
  return JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: 'input' }))) as JsonSchema;
}

/** Returns the keys that the map at a path may have; none if there is no map. */
export function knownKeys(schema: JsonSchema, path: KeyPath): string[] {
  let places = [schema];
  for (const part of path) {
    places = places.flatMap(alternatives).flatMap((place) => inside(place, part));
  }
  return places.flatMap(alternatives).flatMap((place) => {
    const named = place.properties === undefined ? undefined : Object.keys(place.properties);
    return named ?? place.propertyNames?.enum ?? [];
  });
}

function inside(place: JsonSchema, part: string | number): JsonSchema[] {
  const found = typeof part === 'number' ? place.items : ownProperty(place.properties, part);
  if (found !== undefined) return [found];
  return typeof place.additionalProperties === 'object' ? [place.additionalProperties] : [];
}

function ownProperty(
  map: Readonly<Record<string, JsonSchema>> | undefined,
  key: string,
): JsonSchema | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

function alternatives(schema: JsonSchema): JsonSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(alternatives);
}

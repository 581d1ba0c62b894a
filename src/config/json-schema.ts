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

const PLACEHOLDER = {
  type: 'string',
  pattern: '\\$\\{.+\\}',
  description: 'Filled in from the environment or a file.',
};
const PLACEHOLDER_REF = { $ref: '#/$defs/placeholder' };

/** Returns the JSON Schema (draft 2020-12) of the file, with defaults, and with `${…}` allowed for every value. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  // Through JSON, Zod's schema becomes a plain tree.
  const plain = JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: 'input' }))) as JsonSchema;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'rollcall.yaml',
    ...allowPlaceholders(plain),
    $defs: { placeholder: PLACEHOLDER },
  };
}

/** An editor must accept `port: ${PORT}`: only the filled-in value is checked. */
function allowPlaceholders(schema: JsonSchema): JsonSchema {
  const result = { ...schema };
  if (schema.properties !== undefined) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, value]) => [key, allowPlaceholders(value)]),
    );
  }
  if (schema.items !== undefined) result.items = allowPlaceholders(schema.items);
  if (schema.anyOf !== undefined) result.anyOf = schema.anyOf.map(allowPlaceholders);
  if (typeof schema.additionalProperties === 'object') {
    result.additionalProperties = allowPlaceholders(schema.additionalProperties);
  }
  return isRestrictedScalar(schema) ? withPlaceholder(result) : result;
}

function isRestrictedScalar(schema: JsonSchema): boolean {
  if (['number', 'integer', 'boolean'].includes(schema.type ?? '')) return true;
  if (schema.type !== 'string') return false;
  return ['pattern', 'enum', 'const'].some((keyword) => keyword in schema) || Number(schema['minLength']) > 1;
}

function withPlaceholder({ description, default: value, ...restriction }: JsonSchema): JsonSchema {
  return {
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { default: value }),
    anyOf: [restriction, PLACEHOLDER_REF],
  };
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

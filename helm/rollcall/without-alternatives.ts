import type { JsonSchema } from '../../src/config.ts';

/*
 * Helm reports each alternative of `anyOf` that a value does not fit, and leaves it to the reader which of them was meant. Since
 * almost all alternatives of the configuration differ in their type, they can be said without `anyOf`: a keyword such as
 * `minimum` or `pattern` says nothing about values of other types.
 */

const PLACEHOLDER = String.raw`\$\{.+\}`;
/** How a value that a variable fills in, or that stands in quotes, is written. */
const AS_TEXT: Readonly<Record<string, string>> = {
  integer: '^[0-9]+$',
  number: '^[0-9](\\.[0-9]+)?$',
  boolean: '^(true|false)$',
};

/** The same schema without `anyOf`, and without `propertyNames`, whose errors Helm reports at a wrong path. */
export function withoutAlternatives(schema: JsonSchema): JsonSchema {
  const { anyOf, propertyNames, ...own } = schema;
  if (own.properties !== undefined) own.properties = each(own.properties);
  if (own.items !== undefined) own.items = withoutAlternatives(own.items);
  if (typeof own.additionalProperties === 'object')
    own.additionalProperties = withoutAlternatives(own.additionalProperties);
  if (propertyNames !== undefined) {
    own['patternProperties'] = { [patternOf(propertyNames)]: own.additionalProperties };
    own.additionalProperties = false;
  }
  if (anyOf === undefined) return own;
  const alternatives = flat(anyOf);
  const maps = alternatives.filter(({ type }) => type === 'object');
  return { ...(maps.length > 1 ? byMechanism(maps) : inOne(alternatives)), ...own };
}

function each(properties: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, property]) => [key, withoutAlternatives(property)]),
  );
}

function flat(alternatives: readonly JsonSchema[]): JsonSchema[] {
  return alternatives.flatMap((one) => (one.anyOf === undefined ? [one] : flat(one.anyOf)));
}

/** Alternatives of different types as one schema. Texts become one pattern. */
function inOne(alternatives: readonly JsonSchema[]): JsonSchema {
  const isText = ({ type, $ref }: JsonSchema) => type === 'string' || $ref !== undefined;
  const others = alternatives.filter((one) => !isText(one)).map(withoutAlternatives);
  const patterns = [
    ...others.flatMap(({ type = '' }) => AS_TEXT[type] ?? []),
    ...alternatives.filter(isText).map(patternOf),
  ];
  const types = [...new Set([...others.map(({ type }) => type), 'string'])];
  const type = types.length === 1 ? 'string' : types;
  // A secret of any length: the error would print what does not fit.
  const pattern = patterns.includes('') ? {} : { pattern: [...new Set(patterns)].join('|') };
  return Object.assign({}, ...others, pattern, { type }) as JsonSchema;
}

function patternOf(text: JsonSchema): string {
  if (text['$ref'] !== undefined) return PLACEHOLDER;
  const names = text['enum'] ?? (text['const'] === undefined ? undefined : [text['const']]);
  if (Array.isArray(names)) return `^(${names.join('|')})$`;
  return typeof text['pattern'] === 'string' ? text['pattern'] : '';
}

/** The alternatives of `kafka.sasl`: only that of the mechanism is reported. */
function byMechanism(maps: readonly JsonSchema[]): JsonSchema {
  const mechanisms = maps.map(({ properties }) => properties?.['mechanism'] ?? {});
  const keys = maps.flatMap(({ properties = {} }) => Object.keys(properties));
  const ofAll = { properties: Object.fromEntries(keys.map((key) => [key, {}])), additionalProperties: false };
  return {
    type: 'object',
    required: ['mechanism'],
    properties: { mechanism: inOne(flat(mechanisms)) },
    allOf: [
      ...maps.map((map, at) => ifMechanism(patternOf(flat([mechanisms[at] ?? {}])[0] ?? {}), withoutAlternatives(map))),
      ifMechanism(PLACEHOLDER, ofAll),
    ],
  };
}

function ifMechanism(pattern: string, map: JsonSchema): JsonSchema {
  const has = { required: ['mechanism'], properties: { mechanism: { pattern } } };
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  return { if: has, then: map };
}

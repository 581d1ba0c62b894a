import { configJsonSchema, type JsonSchema } from '../src/config.ts';

const PLACEHOLDER = {
  type: 'string',
  pattern: '\\$\\{.+\\}',
  description: 'Filled in from the environment or a file.',
};
const PLACEHOLDER_REF = { $ref: '#/$defs/placeholder' };

/** Returns the JSON Schema (draft 2020-12) of `rollcall.yaml`, with defaults, and with `${…}` allowed for every value. */
export function configFileSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'rollcall.yaml',
    ...allowPlaceholders(configJsonSchema()),
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

import { readFileSync, writeFileSync } from 'node:fs';
import { configJsonSchema } from '../../src/config.ts';
import type { JsonSchema } from '../../src/config/json-schema.ts';

/*
 * Run after a change of the configuration's schema: `node helm/rollcall/embed-config-schema.ts`. Helm reads one
 * schema file and follows no references out of it, so the configuration's stands in it as a copy.
 */

const TARGET = new URL('values.schema.json', import.meta.url);

/** The chart's values schema as the file has it. */
export function readValuesSchema(): JsonSchema {
  return JSON.parse(readFileSync(TARGET, 'utf8')) as JsonSchema;
}

/** The values schema with `config` as the program has it today. */
export function withConfigSchema(valuesSchema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $defs, required: _required, ...config } = pathsForPem(configJsonSchema());
  return {
    ...valuesSchema,
    // What is required is told by the chart's own check, in words that a person understands.
    properties: { ...valuesSchema.properties, config },
    $defs: { ...(valuesSchema['$defs'] as object), ...($defs as object) },
  };
}

/** Where PEM is wanted, the program takes the path of a file too: only a file that exists can be told from a mistake. */
function pathsForPem(schema: JsonSchema): JsonSchema {
  const withoutPemPattern = (key: string, value: unknown) =>
    key === 'pattern' && String(value).startsWith('-----BEGIN') ? undefined : value;
  return JSON.parse(JSON.stringify(schema, withoutPemPattern)) as JsonSchema;
}

if (import.meta.main) {
  writeFileSync(TARGET, `${JSON.stringify(withConfigSchema(readValuesSchema()), null, 2)}\n`);
}

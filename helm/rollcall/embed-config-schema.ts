import { readFileSync, writeFileSync } from 'node:fs';
import { configFileSchema } from '../../scripts/config-schema.ts';
import type { JsonSchema } from '../../src/config.ts';
import { withoutAlternatives } from './without-alternatives.ts';
import { README_FILE, readmeWithValues } from './values-table.ts';

/*
 * Run this after a change of the configuration's schema: `node helm/rollcall/embed-config-schema.ts`. Helm reads one
 * schema file and follows no references to other files, so that file contains a copy of the configuration's schema.
 */

const TARGET = new URL('values.schema.json', import.meta.url);

/** Reads the chart's values schema from its file. */
export function readValuesSchema(): JsonSchema {
  return JSON.parse(readFileSync(TARGET, 'utf8')) as JsonSchema;
}

/** Returns the values schema with the program's current schema as `config`. */
export function withConfigSchema(valuesSchema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $defs: _placeholder, required: _required, ...config } = configFileSchema();
  return {
    ...valuesSchema,
    // The chart's own check reports missing keys, in a text that a person understands.
    properties: { ...valuesSchema.properties, config: withoutAlternatives(config) },
  };
}

if (import.meta.main) {
  const schema = withConfigSchema(readValuesSchema());
  writeFileSync(TARGET, `${JSON.stringify(schema, null, 2)}\n`);
  writeFileSync(README_FILE, readmeWithValues(schema));
}

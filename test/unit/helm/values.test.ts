import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { readValuesSchema, withConfigSchema } from '../../../helm/rollcall/embed-config-schema.ts';
import { README_FILE, readmeWithValues } from '../../../helm/rollcall/values-table.ts';
import { loadFilled } from '../config/config-text.ts';

const CHART = new URL('../../../helm/rollcall/', import.meta.url);
const CI_FILES = readdirSync(new URL('ci/', CHART)).filter((name) => name.endsWith('-values.yaml'));

interface Values {
  readonly config: Record<string, unknown>;
  readonly [key: string]: unknown;
}

function readValues(path: string): Values {
  return parse(readFileSync(new URL(path, CHART), 'utf8')) as Values;
}

/** Renders the configuration as the chart puts it into the ConfigMap: the given values over the chart's. */
function renderedConfig(values: Values): string {
  return stringify({ ...readValues('values.yaml').config, ...values.config });
}

it("the schema of the chart's values has every key of the configuration", () => {
  const schema = readValuesSchema();
  expect(withConfigSchema(schema)).toEqual(schema);
});

it('each value of the chart is in its schema, and each value in the schema has a default', () => {
  const described = Object.keys(readValuesSchema().properties ?? {}).filter((key) => key !== 'global');
  expect(described.toSorted()).toEqual(Object.keys(readValues('values.yaml')).toSorted());
});

it('README.md of the chart lists each of its values (else: npm run schemas)', () => {
  expect(readFileSync(README_FILE, 'utf8')).toBe(readmeWithValues(readValuesSchema()));
});

it.each(CI_FILES)('the values in %s deploy a configuration that the program accepts', (name) => {
  const config = loadFilled(renderedConfig(readValues(`ci/${name}`)));
  expect(config.http.host).toBe('0.0.0.0');
  expect(config.tenants.length).toBeGreaterThan(0);
});

it('the grace period of the chart is longer than the program needs to stop', () => {
  expect(readValues('values.yaml')['terminationGracePeriodSeconds']).toBeGreaterThan(30);
});

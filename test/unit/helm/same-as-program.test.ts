import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readValuesSchema } from '../../../helm/rollcall/embed-config-schema.ts';
import { load } from '../config/config-text.ts';

type Path = readonly (string | number)[];

/** Every key of the configuration, with a value. */
const EXAMPLE: unknown = parse(
  readFileSync(new URL('../../../examples/rollcall.yaml', import.meta.url), 'utf8')
    .replace('${NOTIFY_URL}', 'https://receiver.example/hook')
    .replace('${KAFKA_CA}', '-----BEGIN CERTIFICATE-----')
    .replaceAll(/\$\{(\w+)\}/g, 'a-value-that-is-long'),
);
const VALUES = [
  0,
  1.5,
  '7',
  true,
  'true',
  null,
  '',
  'x',
  'SCRAM-SHA-512',
  '5m',
  'ftp://a.example',
  ['x'],
  { x: 1 },
];

const isAccepted = new Ajv2020({ strict: false }).compile(readValuesSchema().properties?.['config'] ?? {});

function loads(config: unknown): boolean {
  try {
    // JSON is YAML.
    load(JSON.stringify(config));
    return true;
  } catch {
    return false;
  }
}

/** The paths of all values below a value, lists by their first element. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.slice(0, 1).entries()] : Object.entries(value);
  return [path, ...entries.flatMap(([key, each]) => pathsIn(each, [...path, key]))];
}

function changed(path: Path, value: unknown): unknown {
  const config = structuredClone(EXAMPLE);
  const parent = path.slice(0, -1).reduce((at, key) => (at as Record<string | number, unknown>)[key], config);
  (parent as Record<string | number, unknown>)[path.at(-1) ?? ''] = value;
  return config;
}

const cases = pathsIn(EXAMPLE)
  .slice(1)
  .flatMap((path) => VALUES.map((value) => ({ path: path.join('.'), value, config: changed(path, value) })));

it('the chart accepts each value that the program accepts', () => {
  expect(loads(EXAMPLE) && isAccepted(EXAMPLE)).toBe(true);
  const refused = cases.filter(({ config }) => !isAccepted(config) && loads(config));
  expect(refused.map(({ path, value }) => ({ path, value }))).toEqual([]);
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configJsonSchema } from '../../../src/config.ts';
import { configFileSchema } from '../../../scripts/config-schema.ts';
import { configurationPage } from '../../../scripts/configuration-page.ts';

interface Property {
  readonly description?: string;
  readonly properties?: Record<string, Property>;
}

/** Every key of every map; `isMap`: its value is a map of other keys, and nothing else. */
function keysIn(schema: unknown): { key: string; description: string | undefined; isMap: boolean }[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = Object.entries((schema as Property).properties ?? {}).map(([key, property]) => {
    return { key, description: property.description, isMap: property.properties !== undefined };
  });
  return [...own, ...Object.values(schema).flatMap(keysIn)];
}

const fileOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const page = configurationPage(configFileSchema());

it('config.schema.json and docs/configuration.md are as the code makes them (else: npm run schemas)', () => {
  expect(JSON.parse(fileOf('config.schema.json'))).toEqual(configFileSchema());
  expect(fileOf('docs/configuration.md')).toBe(page);
});

it('config.schema.json describes every key, and docs/configuration.md repeats each description', () => {
  const lines = page.split('\n').map((line) => [line.split('`')[1]?.split('.').at(-1), line] as const);
  const missing = keysIn(configJsonSchema()).filter(
    ({ key, description, isMap }) =>
      description === undefined ||
      (!isMap && !lines.some(([of, line]) => of === key && line.endsWith(` ${description} |`))),
  );
  expect(missing).toEqual([]);
});

it('config.schema.json has no key that examples/rollcall.yaml does not show', () => {
  const example = fileOf('examples/rollcall.yaml');
  const keys = new Set(keysIn(configJsonSchema()).map(({ key }) => key));
  expect(keys.size).toBeGreaterThan(50);
  expect([...keys].filter((key) => !new RegExp(`\\b${key}:`).test(example))).toEqual([]);
});

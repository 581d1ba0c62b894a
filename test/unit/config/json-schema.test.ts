import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../../src/config.ts';
import { configFileSchema } from '../../../scripts/config-schema.ts';
import { configurationPage } from '../../../scripts/configuration-page.ts';

interface Property {
  readonly description?: string;
  readonly properties?: object;
}

interface Key {
  readonly key: string;
  readonly description: string | undefined;
  /** Its value is a map of other keys, and nothing else. */
  readonly isMap: boolean;
}

/** Every key of every map, with its description. */
function keysIn(schema: unknown, found: Key[] = []): Key[] {
  if (typeof schema !== 'object' || schema === null) return found;
  for (const [word, value] of Object.entries(schema)) {
    if (word === 'properties') {
      for (const [key, property] of Object.entries(value as Record<string, Property>)) {
        found.push({ key, description: property.description, isMap: property.properties !== undefined });
        keysIn(property, found);
      }
    } else keysIn(value, found);
  }
  return found;
}

describe('config.schema.json', () => {
  const fileOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const page = configurationPage(configFileSchema());

  it('and docs/configuration.md are what the code makes of it (else: npm run schemas)', () => {
    expect(JSON.parse(fileOf('config.schema.json'))).toEqual(configFileSchema());
    expect(fileOf('docs/configuration.md')).toBe(page);
  });

  it('has a description of every key, which docs/configuration.md repeats for each that takes a value', () => {
    const lines = page.split('\n').map((line) => [line.split('`')[1]?.split('.').at(-1), line] as const);
    const missing = keysIn(configJsonSchema()).filter(
      ({ key, description, isMap }) =>
        description === undefined ||
        (!isMap && !lines.some(([of, line]) => of === key && line.endsWith(` ${description} |`))),
    );
    expect(missing).toEqual([]);
  });
});

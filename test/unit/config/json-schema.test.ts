import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../../src/config.ts';
import { configFileSchema } from '../../../scripts/config-schema.ts';
import { configurationPage } from '../../../scripts/configuration-page.ts';

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
      for (const [key, property] of Object.entries(
        value as Record<string, { description?: string; properties?: object }>,
      )) {
        const isMap = property.properties !== undefined;
        found.push({ key, description: property.description, isMap });
        keysIn(property, found);
      }
    } else keysIn(value, found);
  }
  return found;
}

describe('config.schema.json', () => {
  it('is what the code makes of it (else: npm run schemas)', () => {
    const text = readFileSync(new URL('../../../config.schema.json', import.meta.url), 'utf8');
    expect(JSON.parse(text)).toEqual(configFileSchema());
  });

  it('and so is docs/configuration.md', () => {
    const text = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
    expect(text).toBe(configurationPage(configFileSchema()));
  });

  it('docs/configuration.md has every key that takes a value, with its description', () => {
    const page = configurationPage(configFileSchema());
    const missing = keysIn(configJsonSchema()).filter(
      ({ key, description, isMap }) =>
        !isMap &&
        !page
          .split('\n')
          .some(
            (line) => line.split('`')[1]?.split('.').at(-1) === key && line.endsWith(` ${description} |`),
          ),
    );
    expect(missing).toEqual([]);
  });

  it('every key has a description', () => {
    const without = keysIn(configJsonSchema()).filter(({ description }) => description === undefined);
    expect(without).toEqual([]);
  });
});

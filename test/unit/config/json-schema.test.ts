import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../../src/config.ts';
import { knownKeys } from '../../../src/config/json-schema.ts';

describe('config.schema.json', () => {
  it('is what the code makes of it (else: node src/config/write-json-schema.ts, then oxfmt config.schema.json)', () => {
    const text = readFileSync(new URL('../../../config.schema.json', import.meta.url), 'utf8');
    expect(JSON.parse(text)).toEqual(configJsonSchema());
  });

  it('every key has a description', () => {
    const without: string[] = [];
    const scan = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      for (const [word, value] of Object.entries(schema)) {
        if (word !== 'properties') scan(value, path);
        else {
          for (const [key, property] of Object.entries(value as Record<string, object>)) {
            if (!('description' in property)) without.push(`${path}.${key}`);
            scan(property, `${path}.${key}`);
          }
        }
      }
    };
    scan(configJsonSchema(), '');
    expect(without).toEqual([]);
  });

  it('knows the keys below lists, maps and alternatives', () => {
    const schema = configJsonSchema();
    expect(knownKeys(schema, [])).toContain('tenants');
    expect(knownKeys(schema, ['tenants', 0, 'hub'])).toContain('clientAuth');
    expect(knownKeys(schema, ['tenants', 0, 'collections'])).toContain('class-students');
    expect(knownKeys(schema, ['tenants', 0, 'collections', 'users'])).toContain('drop');
    expect(knownKeys(schema, ['kafka', 'ssl'])).toContain('ca');
    expect(knownKeys(schema, ['constructor'])).toEqual([]);
  });
});

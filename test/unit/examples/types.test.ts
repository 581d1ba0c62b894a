import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { typesOfAllSchemas } from '../../../examples/types/write-types.ts';

it('the types in examples/types are those of the schemas', () => {
  const types = typesOfAllSchemas();
  const folder = new URL('../../../examples/types/', import.meta.url);
  const present = [...types.keys()].map((name): [string, string] => [
    name,
    readFileSync(fileURLToPath(new URL(name, folder)), 'utf8'),
  ]);
  expect(new Map(present)).toEqual(types);
});

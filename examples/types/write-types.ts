/**
 * Writes TypeScript types of the values of all topics into this folder, with avro-typescript:
 *
 *   npm run -s example -- examples/types/write-types.ts
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { avroToTypeScript, type RecordType } from 'avro-typescript';

const AVRO = join(import.meta.dirname, '..', '..', 'avro');

/** By the name of the file in this folder: `absences.d.ts`. */
export function typesOfAllSchemas(): Map<string, string> {
  const files = globSync('*.avsc', { cwd: AVRO }).toSorted();
  return new Map(
    files.map((file) => {
      const schema = JSON.parse(readFileSync(join(AVRO, file), 'utf8')) as RecordType;
      return [`${basename(file, '.avsc')}.d.ts`, `// Made from avro/${file}.\n${avroToTypeScript(schema)}`];
    }),
  );
}

if (import.meta.main)
  for (const [name, types] of typesOfAllSchemas()) writeFileSync(join(import.meta.dirname, name), types);

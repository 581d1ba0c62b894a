import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `import … from './x.ts'`, `export … from './x.ts'`, `import './x.ts'` and `import('./x.ts')`; types count. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(?<path>\.[^']+)'/g;

/** The files that one file names in its imports, at once or on demand. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(IMPORT)].map(({ groups }) => join(dirname(file), groups?.['path'] ?? ''));
}

/** Every file that a file leads to by its imports, itself included. Throws for an import of no file. */
export function reachedFrom(entry: string): Set<string> {
  const reached = new Set([entry]);
  for (const file of reached) {
    if (!existsSync(file)) throw new Error(`an import names ${file}, which does not exist`);
    if (!/\.(?:ts|mjs)$/.test(file)) continue;
    for (const imported of importsOf(file)) reached.add(imported);
  }
  return reached;
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A configuration as a file, for the program as a process. */
export function configFile(text: string): Disposable & { readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-config-'));
  const path = join(folder, 'rollcall.yaml');
  writeFileSync(path, text);
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

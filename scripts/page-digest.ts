// One digest of all files of the status page. It is stored beside docs/status-page.png, to show of which version of the page
// the picture was made.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const DIGEST_FILE = fileURLToPath(new URL('../docs/status-page.sha256', import.meta.url));

export function pageDigest(): string {
  const folder = fileURLToPath(new URL('../src/telemetry/page', import.meta.url));
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).toSorted())
    hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

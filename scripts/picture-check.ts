// Fails if the status page has changed since "npm run picture" made docs/status-page.png.
import { existsSync, readFileSync } from 'node:fs';
import { DIGEST_FILE, pageDigest } from './page-digest.ts';

const ofPicture = existsSync(DIGEST_FILE) ? readFileSync(DIGEST_FILE, 'utf8').trim() : '';
if (ofPicture !== pageDigest()) {
  process.stderr.write('✗ docs/status-page.png shows an earlier status page than src/telemetry/page makes\n');
  process.stderr.write('→ Run "npm run picture", look at the picture, and commit it.\n');
  process.exitCode = 1;
}

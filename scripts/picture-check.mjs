// Says when the page has changed since its picture was made: docs/status-page.png, by "npm run picture".
import { spawnSync } from 'node:child_process';
import { checkout } from './setup.mjs';

const git = (/** @type {readonly string[]} */ args) =>
  spawnSync('git', args, { cwd: checkout, encoding: 'utf8' });
const made = git(['log', '-1', '--format=%H', '--', 'docs/status-page.png']).stdout.trim();
const { status, stdout } = git(['diff', '--name-only', '--exit-code', made, '--', 'src/telemetry/page']);
if (made === '' || status === 0) process.exit(0);
process.stderr.write(
  `✗ docs/status-page.png shows an earlier status page; since then these files have changed:\n${stdout}`,
);
process.stderr.write('→ Run "npm run picture", look at the picture, and commit it.\n');
process.exit(1);

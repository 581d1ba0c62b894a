// Checks the workflows of .github with actionlint from the cache; in CI Go builds it once, if Go is installed.
//   node scripts/workflows-check.mjs [--fetch-only]
import { spawnSync } from 'node:child_process';
import { findBuilt } from './go-programs.mjs';
import { checkout } from './setup.mjs';

const print = (/** @type {string} */ line) => process.stdout.write(`workflows: ${line}\n`);

const actionlint = await findBuilt('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12', print);
if (process.argv.includes('--fetch-only')) {
  process.exitCode = actionlint === undefined ? 1 : 0;
} else if (actionlint === undefined) {
  print('NOT CHECKED: with Go installed, CI=1 npm run check:workflows builds actionlint once');
} else {
  // actionlint would call shellcheck and pyflakes, which only some machines have
  const args = ['-shellcheck=', '-pyflakes='];
  const { status } = spawnSync(actionlint, args, { cwd: checkout, stdio: 'inherit' });
  print(status === 0 ? 'actionlint found nothing' : `actionlint ended with ${status}`);
  process.exitCode = status === 0 ? 0 : 1;
}

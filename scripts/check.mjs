// Runs all checks that do not run the program. It continues after a failure, so that one run shows all failures.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { checkout } from './setup.mjs';

const tool = (/** @type {string} */ name) => join(checkout, 'node_modules', '.bin', name);
const steps = [
  { name: 'format', cure: 'npm run format', args: [tool('oxfmt'), '--check'] },
  { name: 'lint', args: [tool('oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'types', args: [tool('tsc'), '--noEmit', '-p', '.'] },
  { name: 'unused', args: [tool('knip')] },
  { name: 'dependencies', args: [join(checkout, 'scripts', 'dependencies-check.mjs')] },
  { name: 'alerts', args: [join(checkout, 'scripts', 'alerts-check.mjs')] },
  { name: 'helm', args: [join(checkout, 'scripts', 'helm-check.mjs')] },
  { name: 'workflows', args: [join(checkout, 'scripts', 'workflows-check.mjs')] },
  { name: 'picture', cure: 'npm run picture', args: [join(checkout, 'scripts', 'picture-check.ts')] },
  { name: 'commits', args: [join(checkout, 'scripts', 'commit-subjects.mjs')] },
];

const failed = steps.filter(({ name, cure, args }) => {
  const started = Date.now();
  const { status } = spawnSync(process.execPath, args, { cwd: checkout, stdio: 'inherit' });
  const outcome = status === 0 ? 'ok' : `FAILED${cure === undefined ? '' : ` (cure: ${cure})`}`;
  process.stdout.write(`check: ${name} ${outcome}, ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  return status !== 0;
});

const summary = failed.length === 0 ? 'all good' : `failed: ${failed.map((step) => step.name).join(', ')}`;
process.stdout.write(`check: ${summary}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;

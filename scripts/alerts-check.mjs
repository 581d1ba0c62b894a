// Checks and tests the alerts, and checks the Prometheus of docker-compose.yml, with promtool, from the PATH or the cache; in CI it is taken once from Debian's package.
//   node scripts/alerts-check.mjs [--fetch-only]
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withPidLock } from './pid-lock.mjs';
import { cache, checkout } from './setup.mjs';

const cached = join(cache, 'promtool');
const folder = join(checkout, 'helm', 'rollcall', 'monitoring');
const compose = join(checkout, 'examples', 'compose', 'prometheus.yaml');

const print = (/** @type {string} */ line) => process.stdout.write(`alerts: ${line}\n`);
const run = (/** @type {string} */ command, /** @type {string[]} */ args, /** @type {string} */ cwd) =>
  spawnSync(command, args, { cwd, encoding: 'utf8' });

async function findPromtool() {
  if (run('promtool', ['--version'], checkout).status === 0) return 'promtool';
  if (!existsSync(cached) && process.env.CI) {
    await withPidLock(join(cache, 'promtool.lock'), async () => existsSync(cached) || fetchPackage());
  }
  return existsSync(cached) ? cached : undefined;
}

/** Unpacks promtool from the package, which is not installed: no service starts. */
function fetchPackage() {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'promtool-'));
  try {
    if (run('apt-get', ['download', 'prometheus'], work).status !== 0) {
      run('apt-get', ['update', '-qq'], work);
      run('apt-get', ['download', 'prometheus'], work);
    }
    const file = readdirSync(work).find((name) => name.endsWith('.deb'));
    if (file === undefined) return print('Debian’s package prometheus cannot be fetched');
    run('dpkg-deb', ['-x', file, 'unpacked'], work);
    copyFileSync(join(work, 'unpacked', 'usr', 'bin', 'promtool'), join(work, 'promtool'));
    renameSync(join(work, 'promtool'), cached);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {string} promtool */
function check(promtool) {
  const steps = [
    ['check', 'rules', 'alerts.yaml'],
    ['test', 'rules', 'alerts.test.yaml'],
    ['check', 'config', '--syntax-only', compose],
  ];
  return steps.every((args) => {
    const { status, stdout, stderr } = run(promtool, args, folder);
    print(
      status === 0
        ? `promtool ${args.join(' ')}: ok`
        : `promtool ${args.join(' ')} failed:\n${stdout}${stderr}`,
    );
    return status === 0;
  });
}

const promtool = await findPromtool();
if (process.argv.includes('--fetch-only')) {
  process.exitCode = promtool === undefined ? 1 : 0;
} else if (promtool === undefined) {
  print('SKIPPED: there is no promtool in the PATH. Install Prometheus; CI takes it from Debian’s package.');
  process.exitCode = process.env.CI ? 1 : 0;
} else {
  process.exitCode = check(promtool) ? 0 : 1;
}

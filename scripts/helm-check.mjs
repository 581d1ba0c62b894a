// Lints and renders the Helm chart. Helm is taken from the PATH or the cache; in CI it is built once with Go, if Go is there.
//   node scripts/helm-check.mjs [--fetch-only]
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withPidLock } from './pid-lock.mjs';
import { checkout } from './setup.mjs';

const version = 'v3.22.0';
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rollcall');
const cachedHelm = join(cache, `helm-${version}`);
const chart = join(checkout, 'helm', 'rollcall');

const say = (/** @type {string} */ line) => process.stdout.write(`helm: ${line}\n`);
const answers = (/** @type {string} */ command, /** @type {string[]} */ args) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

async function findHelm() {
  if (answers('helm', ['version'])) return 'helm';
  if (existsSync(cachedHelm)) return cachedHelm;
  if (process.env.CI && answers('go', ['version'])) {
    const onWait = (/** @type {number} */ pid) => say(`waiting for process ${pid}, which is building it`);
    await withPidLock(join(cache, 'helm.lock'), async () => existsSync(cachedHelm) || buildHelm(), {
      onWait,
    });
  }
  return existsSync(cachedHelm) ? cachedHelm : undefined;
}

function buildHelm() {
  say(`building helm ${version} with Go, once: takes some minutes`);
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'helm-build-'));
  const args = ['install', `helm.sh/helm/v3/cmd/helm@${version}`];
  const { status, stderr } = spawnSync('go', args, {
    env: { ...process.env, GOBIN: folder },
    encoding: 'utf8',
  });
  if (status === 0) renameSync(join(folder, 'helm'), cachedHelm);
  else say(`go install failed (exit ${status}): ${stderr.trim().split('\n').slice(-5).join('\n')}`);
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} helm */
function checkChart(helm) {
  if (!existsSync(join(chart, 'Chart.yaml'))) {
    say('helm/rollcall/Chart.yaml is missing');
    return false;
  }
  const yamlIn = (/** @type {string} */ folder) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => name.endsWith('.yaml'))
          .map((name) => join(folder, name))
      : [];
  const good = yamlIn(join(chart, 'ci'));
  const refused = yamlIn(join(chart, 'ci', 'refused'));
  // the defaults name no tenant: they can be linted, but installing them must be refused
  const verdicts = [
    mustPass(helm, ['lint', '--strict', '--quiet', chart]),
    ...good.flatMap((values) => [
      mustPass(helm, ['lint', '--strict', '--quiet', chart, '--values', values]),
      mustPass(helm, ['template', 'rollcall', chart, '--values', values]),
    ]),
    mustFail(helm, ['template', 'rollcall', chart], 'config.tenants names no tenant'),
    ...refused.map((values) => {
      const told =
        /^# refused: (.+)$/m.exec(readFileSync(values, 'utf8'))?.[1] ??
        `${values} does not say what refuses it`;
      const minimal = join(chart, 'ci', 'minimal-values.yaml');
      return mustFail(helm, ['template', 'rollcall', chart, '--values', minimal, '--values', values], told);
    }),
  ];
  say(`${verdicts.filter(Boolean).length} of ${verdicts.length} checks of the chart passed`);
  return verdicts.every(Boolean);
}

/** @param {string} helm @param {string[]} args */
function mustPass(helm, args) {
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
  if (status !== 0) say(`helm ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return status === 0;
}

/** @param {string} helm @param {string[]} args @param {string} told */
function mustFail(helm, args, told) {
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
  const ok = status !== 0 && `${stdout}${stderr}`.includes(told);
  if (!ok) say(`helm ${args.join(' ')} should be refused with "${told}", but:\n${stderr}`);
  return ok;
}

const helm = await findHelm();
if (process.argv.includes('--fetch-only')) {
  process.exitCode = helm === undefined ? 1 : 0;
} else if (helm === undefined) {
  say('**************************************************************************************');
  say('SKIPPED: the chart was NOT linted and NOT rendered. There is no helm in the PATH.');
  say('Install Helm 3; or, with Go installed, CI=1 npm run check:helm builds it once (minutes).');
  say('**************************************************************************************');
} else {
  process.exitCode = checkChart(helm) ? 0 : 1;
}

// Lints and renders the Helm chart. Helm comes from the PATH or the cache; in CI Go builds it once, if Go is installed.
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

const print = (/** @type {string} */ line) => process.stdout.write(`helm: ${line}\n`);
const succeeds = (/** @type {string} */ command, /** @type {string[]} */ args) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

async function findHelm() {
  if (succeeds('helm', ['version'])) return 'helm';
  if (existsSync(cachedHelm)) return cachedHelm;
  if (process.env.CI && succeeds('go', ['version'])) {
    const onWait = (/** @type {number} */ pid) => print(`waiting for process ${pid}, which is building it`);
    await withPidLock(join(cache, 'helm.lock'), async () => existsSync(cachedHelm) || buildHelm(), {
      onWait,
    });
  }
  return existsSync(cachedHelm) ? cachedHelm : undefined;
}

function buildHelm() {
  print(`building helm ${version} with Go, once: this takes some minutes`);
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'helm-build-'));
  const args = ['install', `helm.sh/helm/v3/cmd/helm@${version}`];
  const { status, stderr } = spawnSync('go', args, {
    env: { ...process.env, GOBIN: folder },
    encoding: 'utf8',
  });
  if (status === 0) renameSync(join(folder, 'helm'), cachedHelm);
  else print(`go install failed (exit ${status}): ${stderr.trim().split('\n').slice(-5).join('\n')}`);
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} helm */
function checkChart(helm) {
  if (!existsSync(join(chart, 'Chart.yaml'))) {
    print('helm/rollcall/Chart.yaml is missing');
    return false;
  }
  const accepted = yamlFiles(join(chart, 'ci'));
  const refused = yamlFiles(join(chart, 'ci', 'refused'));
  const problems = [
    ...accepted.flatMap((values) => [
      isAccepted(helm, ['lint', '--strict', '--quiet', chart, '--values', values]),
      isAccepted(helm, ['template', 'rollcall', chart, '--values', values]),
    ]),
    ...refused.map((values) => isRefused(helm, values)),
  ].filter((problem) => problem !== undefined);
  if (accepted.length === 0) problems.push('helm/rollcall/ci has no values to check the chart with');
  for (const problem of problems) print(problem);
  print(
    `${accepted.length} sets of values linted and rendered, ${refused.length} expected to be refused, ${problems.length} problems`,
  );
  return problems.length === 0;
}

/** @param {string} folder */
function yamlFiles(folder) {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name));
}

/** @param {string} helm @param {string[]} args */
function isAccepted(helm, args) {
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
  return status === 0 ? undefined : `helm ${args.join(' ')} failed:\n${stdout}${stderr}`;
}

/** Adds values to the minimal ones; their first line, `# refused: <words>`, is what the refusal must contain. @param {string} helm @param {string} values */
function isRefused(helm, values) {
  const reason = /^# refused: (.+)$/m.exec(readFileSync(values, 'utf8'))?.[1] ?? '# refused: is missing';
  const args = ['--values', join(chart, 'ci', 'minimal-values.yaml'), '--values', values];
  const { status, stderr } = spawnSync(helm, ['template', 'rollcall', chart, ...args], { encoding: 'utf8' });
  if (status !== 0 && stderr.includes(reason)) return undefined;
  return `${values} must be refused for "${reason}", but helm template ${status === 0 ? 'accepted it' : `answered: ${stderr.trim()}`}`;
}

const helm = await findHelm();
if (process.argv.includes('--fetch-only')) {
  process.exitCode = helm === undefined ? 1 : 0;
} else if (helm === undefined) {
  print('**************************************************************************************');
  print('SKIPPED: the chart was NOT linted and NOT rendered. There is no helm in the PATH.');
  print('Install Helm 3; or, with Go installed, CI=1 npm run check:helm builds it once (minutes).');
  print('**************************************************************************************');
} else {
  process.exitCode = checkChart(helm) ? 0 : 1;
}

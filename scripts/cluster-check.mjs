// Offers the Helm chart to a real API server, and installs it there. It is no part of "npm run check".
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findHelm, succeeds } from './go-programs.mjs';
import { findCrds } from './kubernetes-schemas.mjs';
import { withPidLock } from './pid-lock.mjs';
import { cache, checkout } from './setup.mjs';

const USAGE = `npm run check:cluster [-- options]

Starts etcd and kube-apiserver, and
  1. offers them all that the chart renders from the values in helm/rollcall/ci, and the manifests in examples: strictly,
     in a namespace of the "restricted" Pod Security Standard;
  2. installs the chart, upgrades it from one of these sets of values to the next, rolls back and uninstalls.
Not shown, since neither a controller nor a kubelet runs: that the Pods start and the Jobs end (npm run check:container runs
the image as a careful platform does).

  --fetch-only  only build the programs, into ~/.cache/rollcall; needs Go 1.26, and takes some 15 minutes with two cores
  --keep        keep the folder with all logs
  --help        print this

Needs Go (once). Exit 1: the chart or its check has a problem.
`;
const KUBERNETES = 'v1.36.3';
/** go.mod and go.sum there pin every module by version and checksum. */
const modules = join(checkout, 'test', 'cluster', 'programs');
const programs = join(cache, `kubernetes-${KUBERNETES}`);
const TELL_MS = 30_000;

const print = (/** @type {string} */ line) => process.stdout.write(`cluster: ${line}\n`);

/** Builds etcd and kube-apiserver into the cache, once. @returns {Promise<boolean>} */
async function findPrograms() {
  if (existsSync(programs)) return true;
  if (!succeeds('go', ['version'])) {
    print('etcd and kube-apiserver are not built yet, and there is no Go in the PATH: install Go 1.26');
    return false;
  }
  const onWait = (/** @type {number} */ pid) => print(`waiting for process ${pid}, which is building them`);
  await withPidLock(`${programs}.lock`, async () => existsSync(programs) || build(), { onWait });
  return existsSync(programs);
}

async function build() {
  print(`building the API server of Kubernetes ${KUBERNETES} with Go, once; this takes a while`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'kubernetes-build-'));
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const ticker = setInterval(() => print(`still building, ${seconds()} s`), TELL_MS);
  const [major, minor] = KUBERNETES.slice(1).split('.');
  const flags = [`gitVersion=${KUBERNETES}`, `gitMajor=${major}`, `gitMinor=${minor}`].map(
    (flag) => `-X k8s.io/component-base/version.${flag}`,
  );
  const code = await new Promise((resolve) => {
    const args = ['build', '-mod=readonly', '-ldflags', `-s -w ${flags.join(' ')}`, '-o', `${work}/`, 'tool'];
    const go = spawn('go', args, {
      cwd: modules,
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    go.on('error', () => resolve(1));
    go.on('close', resolve);
  });
  clearInterval(ticker);
  if (code === 0) {
    // its module is called server
    renameSync(join(work, 'server'), join(work, 'etcd'));
    renameSync(work, programs);
    print(`built in ${seconds()} s: ${programs}`);
  } else {
    print(`go build failed (exit ${code})`);
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {{ keep: boolean, 'fetch-only': boolean }} options @returns {Promise<number>} the exit code */
async function main(options) {
  process.env.CI ??= '1'; // a caller of this wants Helm built
  const helm = await findHelm(print);
  const crdFolder = findCrds();
  if (helm === undefined || crdFolder === undefined || !(await findPrograms())) {
    print('something is missing: with Go 1.26 in the PATH, this builds and fetches it');
    return 1;
  }
  if (options['fetch-only']) return 0;
  const [etcd, apiServer] = [join(programs, 'etcd'), join(programs, 'kube-apiserver')];
  const { checkChart } = await import('../test/cluster/check.ts');
  const problems = await checkChart({
    programs: { etcd, apiServer, helm },
    crdFolder,
    print,
    isKept: options.keep,
  });
  print(problems.length === 0 ? 'all good' : `${problems.length} problems`);
  return problems.length === 0 ? 0 : 1;
}

function readOptions() {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  return parseArgs({
    options: { 'fetch-only': flag, keep: flag, help: flag },
  }).values;
}

try {
  const options = readOptions();
  if (options.help) process.stdout.write(USAGE);
  else process.exitCode = await main(options);
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const isBadUse = 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  print(`${error.message}${isBadUse ? '\n\n' + USAGE : ''}`);
  process.exitCode = isBadUse ? 2 : 1;
}

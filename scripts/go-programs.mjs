// Programs that Go builds once into the cache, at a pinned version.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withPidLock } from './pid-lock.mjs';
import { cache } from './setup.mjs';

/** @typedef {(line: string) => void} Print */

/** Whether a command runs and ends with 0. @param {string} command @param {string[]} args */
export const succeeds = (command, args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/**
 * The path of a program that Go builds once; undefined where it is neither there nor can be built.
 *
 * @param {string} name @param {string} module @param {Print} print
 */
export async function findBuilt(name, module, print) {
  const cached = join(cache, `${name}-${module.split('@')[1]}`);
  if (!existsSync(cached) && process.env.CI && succeeds('go', ['version'])) {
    const onWait = (/** @type {number} */ pid) =>
      print(`waiting for process ${pid}, which is building ${name}`);
    const work = async () => existsSync(cached) || build(name, module, cached, print);
    await withPidLock(join(cache, `${name}.lock`), work, { onWait });
  }
  return existsSync(cached) ? cached : undefined;
}

/** From the PATH, or built. @param {Print} print */
export const findHelm = async (print) =>
  succeeds('helm', ['version']) ? 'helm' : findBuilt('helm', 'helm.sh/helm/v3/cmd/helm@v3.22.0', print);

/** @param {string} name @param {string} module @param {string} target @param {Print} print */
function build(name, module, target, print) {
  print(`building ${module} with Go, once`);
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, `${name}-build-`));
  const { status, stderr } = spawnSync('go', ['install', module], {
    env: { ...process.env, GOBIN: folder },
    encoding: 'utf8',
  });
  if (status === 0) renameSync(join(folder, name), target);
  else print(`go install failed (exit ${status}): ${stderr.trim().split('\n').slice(-5).join('\n')}`);
  rmSync(folder, { recursive: true, force: true });
}

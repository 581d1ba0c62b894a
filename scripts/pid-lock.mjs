// A lock between processes of one machine: a file with its owner's pid. A waiter takes over the lock of a dead owner.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_INTERVAL_MS = 200;

/**
 * Runs `work` under the lock; waits for a running owner.
 *
 * @template T
 * @param {string} file the lock file; its folder is created
 * @param {() => Promise<T>} work
 * @param {{ onWait?: (ownerPid: number) => void }} [options] `onWait` is called once, when the lock is not free
 * @returns {Promise<T>}
 */
export async function withPidLock(file, work, { onWait = () => {} } = {}) {
  mkdirSync(dirname(file), { recursive: true });
  let waiting = false;
  while (!tryLock(file)) {
    const owner = ownerOf(file);
    if (owner === undefined) continue;
    if (!isAlive(owner)) {
      breakLock(file, owner);
      continue;
    }
    if (!waiting) onWait(owner);
    waiting = true;
    await sleep(POLL_INTERVAL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** @param {string} file */
function tryLock(file) {
  // written to another file and linked into place, so that no process reads a lock without its pid
  const aside = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(aside, String(process.pid));
  try {
    linkSync(aside, file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** @param {string} file */
function ownerOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {string} file @param {number} deadOwner */
function breakLock(file, deadOwner) {
  const stale = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, stale);
    // another waiter may have replaced the dead lock with its own in between: restore that one
    if (ownerOf(stale) !== deadOwner) linkSync(stale, file);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(stale, { force: true });
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

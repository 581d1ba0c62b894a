// Runs a child in place of this process: the child gets the signals, returns its exit code, and ends when this process is killed.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { whenOrphaned } from '../bin/when-orphaned.mjs';

const scripts = dirname(fileURLToPath(import.meta.url));

/**
 * @param {string} node the Node binary
 * @param {string[]} args the script and its arguments
 * @returns {Promise<number>} the exit code; 128 + n when a signal ended the child
 */
export function runNode(node, args) {
  const path = [dirname(node), join(dirname(scripts), 'node_modules', '.bin'), process.env.PATH].join(
    delimiter,
  );
  // kafkajs arms timers with a negative delay, about which Node warns: that is no user's concern
  const quiet = '--disable-warning=TimeoutNegativeWarning';
  const child = spawn(node, [quiet, '--import', join(scripts, 'end-with-parent.mjs'), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, PATH: path, ROLLCALL_PARENT_FD: '3' },
  });
  // a terminal sends SIGINT to all processes of the group, also to the child: another one would look like a second Ctrl-C
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(() => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      resolve(code ?? 128 + constants.signals[/** @type {NodeJS.Signals} */ (signal)]),
    );
  });
}

#!/usr/bin/env node
// The command line. Under an older Node it starts itself again under the Node 24 of the dependencies.
import { earlyExitCode, handOverStop, stopEarly } from '../src/cli/early-stop.mjs';

const argv = process.argv.slice(2);
// before any slow import, since orchestrators also stop processes that have just started
stopEarly(argv);
await installMissing();
if (Number(process.versions.node.split('.')[0]) >= 24) {
  await keepCompiledModules();
  if (process.env.npm_lifecycle_event === 'npx') {
    const { whenOrphaned } = await import('../scripts/when-orphaned.mjs');
    whenOrphaned(() => process.kill(process.pid, 'SIGTERM'));
  }
  await import('../src/main.ts');
} else {
  const { findNode, noNodeMessage } = await import('../scripts/setup.mjs');
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(`${noNodeMessage}\n`);
    process.exitCode = 1;
  } else {
    const { runNode } = await import('../scripts/run-node.mjs');
    const { constants } = await import('node:os');
    const { fileURLToPath } = await import('node:url');
    const ending = runNode(node, [fileURLToPath(import.meta.url), ...argv]);
    handOverStop();
    const code = await ending;
    // a child that ended before it listened for signals had not begun either
    const { SIGTERM, SIGINT } = constants.signals;
    process.exitCode = code === 128 + SIGTERM || code === 128 + SIGINT ? earlyExitCode(argv) : code;
  }
}

/** In a checkout the dependencies may not be installed yet; elsewhere there is no lock file. */
async function installMissing() {
  const { existsSync } = await import('node:fs');
  const isThere = (/** @type {string} */ path) => existsSync(new URL(`../${path}`, import.meta.url));
  if (isThere('node_modules') || !isThere('package-lock.json')) return;
  const { installDependencies } = await import('../scripts/setup.mjs');
  await installDependencies((line) => process.stderr.write(`set-up: ${line}\n`));
}

/** Stripping types and compiling some 400 modules is more than half of a start; Node keeps the result for the next one. */
async function keepCompiledModules() {
  const { enableCompileCache } = await import('node:module');
  const { fileURLToPath } = await import('node:url');
  // in a folder that cannot be written, such as an image's, Node only reads
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled-modules', import.meta.url)));
}

#!/usr/bin/env node
// The command line: of a checkout, which runs its TypeScript, or of a package, which holds what was built of it. In a
// checkout it starts itself again under a newer Node where that is needed.
import { earlyExitCode, handOverStop, stopEarly, verbOf } from './early-stop.mjs';

const argv = process.argv.slice(2);
// before any slow import, since orchestrators also stop processes that have just started
stopEarly(argv);
const { existsSync } = await import('node:fs');
const isThere = (/** @type {string} */ path) => existsSync(new URL(`../${path}`, import.meta.url));
const isCheckout = isThere('src');
const print = (/** @type {string} */ line) => process.stderr.write(`set-up: ${line}\n`);
if (isCheckout && !isThere('node_modules')) {
  const { installDependencies } = await import('../scripts/setup.mjs');
  await installDependencies(print);
}
if (Number(process.versions.node.split('.')[0]) >= 24) {
  if (verbOf(argv) === 'run') {
    const { boundMemory } = await import('./bounded-memory.mjs');
    boundMemory();
  }
  await keepCompiledModules();
  if (process.env.npm_lifecycle_event === 'npx') {
    const { whenOrphaned } = await import('./when-orphaned.mjs');
    whenOrphaned(() => process.kill(process.pid, 'SIGTERM'));
  }
  if (isCheckout) {
    await import('../src/main.ts');
  } else {
    const { nameSourcesInStacks } = await import('./stack-traces.mjs');
    nameSourcesInStacks();
    await import('../dist/main.js');
  }
} else if (isCheckout) {
  await runUnderNewerNode();
} else {
  process.stderr.write(
    `✗ Rollcall needs Node 24 or later; this is ${process.versions.node}\n→ Install it.\n`,
  );
  process.exitCode = 1;
}

async function runUnderNewerNode() {
  const { findNode } = await import('../scripts/setup.mjs');
  const { runNode } = await import('../scripts/run-node.mjs');
  const { constants } = await import('node:os');
  const { fileURLToPath } = await import('node:url');
  const { ENVIRONMENT, NODE_FLAGS } = await import('./bounded-memory.mjs');
  const isLong = verbOf(argv) === 'run';
  // Set here already: a process that replaces itself no longer notices that this one was killed.
  if (isLong) process.env = { ...ENVIRONMENT, ...process.env };
  const script = fileURLToPath(import.meta.url);
  const ending = runNode(await findNode(print), [...(isLong ? NODE_FLAGS : []), script, ...argv]);
  handOverStop();
  const code = await ending;
  // a child that ended before it listened for signals had not begun either
  const { SIGTERM, SIGINT } = constants.signals;
  process.exitCode = code === 128 + SIGTERM || code === 128 + SIGINT ? earlyExitCode(argv) : code;
}

/** To compile the modules, after stripping types in a checkout, is more than half of a start; Node keeps the result for the next one. */
async function keepCompiledModules() {
  const { constants, enableCompileCache } = await import('node:module');
  const path = await import('node:path');
  const { fileURLToPath } = await import('node:url');
  // in a folder that cannot be written, such as an image's, Node only reads
  const beside = fileURLToPath(new URL('../node_modules/.cache/compiled-modules', import.meta.url));
  const { status } = enableCompileCache(beside);
  // The folder of an installation may belong to another user. Where nothing can be written, every start compiles.
  const { HOME } = process.env;
  if (status === constants.compileCacheStatus.FAILED && HOME !== undefined)
    enableCompileCache(path.join(HOME, '.cache', 'rollcall', 'compiled-modules'));
}

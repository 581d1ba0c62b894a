// Runs a script of the project under Node 24, directly after "git clone" too: it first installs what is missing.
//   node scripts/with-setup.mjs <script> [arguments]
//   node scripts/with-setup.mjs --bin <tool in node_modules/.bin> [arguments]
import { join, resolve } from 'node:path';
import { checkout, findNode, installDependencies, SetupError } from './setup.mjs';
import { runNode } from './run-node.mjs';

const print = (/** @type {string} */ line) => process.stderr.write(`set-up: ${line}\n`);

async function main() {
  const [first, ...rest] = process.argv.slice(2);
  if (first === undefined)
    throw new SetupError('usage: node scripts/with-setup.mjs [--bin] <script or tool> [arguments]');
  await installDependencies(print);
  const node = await findNode(print);
  const target =
    first === '--bin'
      ? [join(checkout, 'node_modules', '.bin', rest[0] ?? ''), ...rest.slice(1)]
      : [resolve(checkout, first), ...rest];
  return runNode(node, target);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  print(error.message);
  process.exitCode = 1;
}

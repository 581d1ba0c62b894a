#!/usr/bin/env node
// The command line. Under an older Node it starts again under the Node 24 that the dependencies brought along.
if (Number(process.versions.node.split('.')[0]) >= 24) {
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
    const { fileURLToPath } = await import('node:url');
    process.exitCode = await runNode(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
  }
}

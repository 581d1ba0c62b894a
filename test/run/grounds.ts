import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runNode } from '../../scripts/run-node.mjs';
import { grounds, groundVariable } from '../../stack/grounds.ts';

/*
 * Runs the integration tests at full length on one ground after the other, and prints how many passed on each:
 * `npm run test:grounds`, for some grounds alone with their names; other arguments are vitest's, such as files. Exit 1 when a
 * test failed on a ground.
 */

interface Outcome {
  readonly ground: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

async function runOn(ground: string, args: readonly string[], reportFile: string): Promise<Outcome> {
  const startedMs = performance.now();
  const reporters = ['./test/run/progress-reporter.ts', 'json'].map((name) => `--reporter=${name}`);
  process.env[groundVariable] = ground;
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'integration'];
  const code = await runNode(process.execPath, [
    ...vitest,
    ...reporters,
    `--outputFile.json=${reportFile}`,
    ...args,
  ]);
  const counted = spawnSync(process.execPath, ['scripts/count-tests.mjs', reportFile], { encoding: 'utf8' });
  const [passed = 0, failed = 0] = counted.stdout.split(/\s/u).map(Number);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  // What fails outside of tests fails, too.
  return { ground, passed, failed: code === 0 ? failed : Math.max(failed, 1), seconds };
}

process.env['ROLLCALL_TESTS'] = 'all';
const given = process.argv.slice(2);
const chosen = given.filter((arg) => arg in grounds);
const others = given.filter((arg) => !(arg in grounds));
const folder = mkdtempSync(join(tmpdir(), 'rollcall-grounds-'));
const outcomes: Outcome[] = [];
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    isInterrupted = true;
  });
try {
  for (const ground of chosen.length > 0 ? chosen : Object.keys(grounds)) {
    if (isInterrupted) break;
    outcomes.push(await runOn(ground, others, join(folder, `${ground}.json`)));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const { ground, passed, failed, seconds } of outcomes)
  process.stdout.write(
    `${ground.padEnd(15)} ${passed} passed, ${failed} failed, ${seconds} s: ${grounds[ground]?.summary}\n`,
  );
process.exitCode = outcomes.some(({ failed }) => failed > 0) ? 1 : 0;

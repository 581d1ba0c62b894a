import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { earlyExitCode } from '../../../bin/early-stop.mjs';
import { yamlWith } from '../config/config-text.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/rollcall.mjs', import.meta.url));
const SAY_WHEN_LOADING = new URL('say-when-loading.mjs', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'rollcall-stop-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Nothing answers at these addresses: `run` retries until it is stopped. */
const CONFIG = yamlWith({ root: 'http: { port: 0 }' })
  .replaceAll('localhost:9092', '127.0.0.1:9')
  .replaceAll('localhost:8081', '127.0.0.1:9')
  .replaceAll(/https:\/\/(hub|id)\.example/g, 'http://127.0.0.1:9');

interface Ended {
  readonly code: number | null;
  readonly by: NodeJS.Signals | null;
}

/** Starts the program; `loading` resolves when it begins to load, and then it sends itself `earlySignal`. */
function start(args: readonly string[], earlySignal?: NodeJS.Signals) {
  const config = join(folder, 'rollcall.yaml');
  writeFileSync(config, CONFIG);
  const child = spawn(
    process.execPath,
    ['--import', SAY_WHEN_LOADING, PROGRAM, '--config', config, ...args],
    {
      env: { PATH: process.env['PATH'], HUB_SECRET: 'x', EARLY_SIGNAL: earlySignal },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    },
  );
  const loading = new Promise((resolve) => child.stderr.once('data', resolve));
  child.stderr.resume();
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) => resolve({ code, by }));
  });
  return { child, loading, ended };
}

describe('a signal in the first seconds', () => {
  it.each([0, 50, 200, 500, 1000, 2000])(
    'does not kill "run" %i ms into its loading: it ends with 0',
    async (afterMs) => {
      const { child, loading, ended } = start(['run']);
      await loading;
      await sleep(afterMs);
      child.kill('SIGTERM');
      expect(await ended).toEqual({ code: 0, by: null });
    },
  );

  it.each([
    ['run', 'SIGTERM', 0],
    ['run', 'SIGINT', 0],
    ['hub --port 0', 'SIGTERM', 0],
    ['tail users', 'SIGINT', 0],
    ['status', 'SIGTERM', 1],
    ['pull', 'SIGINT', 1],
  ] as const)('"%s" on %s ends with its exit code, not by the signal', async (args, signal, code) => {
    const { ended } = start(args.split(' '), signal);
    expect(await ended).toEqual({ code, by: null });
  });
});

describe('the exit code before anything has begun', () => {
  it.each([
    [['run'], 0],
    [['--config', 'pull', 'run'], 0],
    [['-c', 'x.yaml', '--json', 'tail', 'users'], 0],
    [['--config', 'run', 'pull', '--full'], 1],
    [['help', 'run'], 1],
    [[], 1],
  ])('is that of the verb in %j', (argv, expected) => {
    expect(earlyExitCode(argv)).toBe(expected);
  });
});

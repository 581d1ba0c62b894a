import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'bin', 'rollcall.mjs');

function start(): string {
  const { stderr } = spawnSync(process.execPath, [LAUNCHER, 'status', '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    timeout: 60_000,
  });
  return stderr;
}

it('a second start takes the modules that an earlier one has compiled', () => {
  start();
  expect(start()).toMatch(/V8 code cache for ESM \S+\/src\/cli\/status\.ts was accepted/);
});

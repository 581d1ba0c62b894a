import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { isAlive, temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const withSetup = join(import.meta.dirname, '../../../scripts/with-setup.mjs');

/** Runs a program through with-setup as the scripts of package.json do: it prints its pid and arguments, and ends by SIGTERM with 7. */
async function start() {
  const script = join(folder(), 'program.ts');
  await writeFile(
    script,
    `process.on('SIGTERM', () => process.exit(7));
     setInterval(() => undefined, 1000);
     console.log(JSON.stringify([process.pid, ...process.argv.slice(2)]));`,
  );
  const run = spawn(process.execPath, [withSetup, script, '--for', '60s'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(run.stdout, 'data')) as [Buffer];
  const [pid, ...args] = JSON.parse(line.toString()) as [number, ...string[]];
  return { run, pid, args };
}

it('with-setup passes arguments, SIGTERM and the exit code on', async () => {
  const { run, args } = await start();
  run.kill('SIGTERM');
  expect([args, await once(run, 'exit')]).toEqual([
    ['--for', '60s'],
    [7, null],
  ]);
});

it('with-setup that is killed with SIGKILL leaves no program behind', async () => {
  const { run, pid } = await start();
  run.kill('SIGKILL');
  await vi.waitUntil(() => !isAlive(pid), 30_000);
});

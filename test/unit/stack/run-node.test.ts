import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isAlive, temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();

const withSetup = join(import.meta.dirname, '../../../scripts/with-setup.mjs');

/** Runs a TypeScript program through with-setup as the scripts of package.json do. */
async function start(program: string, ...args: string[]): Promise<ChildProcess & { stdout: Readable }> {
  const script = join(folder(), 'program.ts');
  await writeFile(script, program);
  return spawn(process.execPath, [withSetup, script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** This program prints its pid, stays until SIGTERM, and then exits with 7. */
const waiting = `
  process.on('SIGTERM', () => process.exit(7));
  setInterval(() => undefined, 1000);
  console.log(process.pid);
`;

describe('with-setup', () => {
  it('passes arguments and the exit code on', async () => {
    const run = await start(
      'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 3;',
      '--for',
      '60s',
    );
    const output = run.stdout.toArray();
    expect(await once(run, 'exit')).toEqual([3, null]);
    expect(Buffer.concat((await output) as Buffer[]).toString()).toBe('["--for","60s"]\n');
  });

  it('passes SIGTERM on', async () => {
    const run = await start(waiting);
    await once(run.stdout, 'data');
    run.kill('SIGTERM');
    expect(await once(run, 'exit')).toEqual([7, null]);
  });

  it('ends the program when the wrapper is killed with SIGKILL', async () => {
    const run = await start(waiting);
    const [line] = (await once(run.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    run.kill('SIGKILL');
    while (isAlive(pid)) await sleep(20);
    expect(isAlive(pid)).toBe(false);
  });
});

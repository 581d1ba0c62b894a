import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startSupervised } from '../../../stack/supervised-process.ts';
import { isAlive, temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const startHere = (command: string, ...args: string[]) =>
  startSupervised({ command, args, logFile: join(folder(), 'log'), cwd: folder() });

it('a parent killed with SIGKILL leaves no child and no folder behind', async () => {
  const module = join(import.meta.dirname, '../../../stack/supervised-process.ts');
  const program = `
    import { removeWhenGone, startSupervised } from ${JSON.stringify(module)};
    const folder = ${JSON.stringify(folder())};
    removeWhenGone(folder);
    const child = await startSupervised({ command: 'sleep', args: ['600'], logFile: folder + '/log', cwd: folder });
    process.kill(child.pid, 'SIGSTOP');
    console.log(child.pid);
  `;
  const args = ['--input-type=module', '-e', program];
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await vi.waitUntil(() => !isAlive(pid) && !existsSync(folder()), 30_000);
});

it('the exit code of a command, its output and its end by a signal are reported, and a later signal throws nothing', async () => {
  const child = await startHere('/bin/sh', '-c', 'echo said; exit 7');
  expect([await child.exited, child.isRunning()]).toEqual([7, false]);
  expect(await readFile(join(folder(), 'log'), 'utf8')).toBe('said\n');
  expect(() => child.kill('SIGKILL')).not.toThrow();
  expect(await (await startHere('/nowhere/redis-server')).exited).toBe(127);
  const sleeping = await startHere('sleep', '600');
  sleeping.kill('SIGTERM');
  expect([await sleeping.exited, isAlive(sleeping.pid)]).toEqual([128 + 15, false]);
});

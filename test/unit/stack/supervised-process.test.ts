import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startSupervised } from '../../../stack/supervised-process.ts';
import { isAlive, temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

const startHere = (command: string, ...args: string[]) =>
  startSupervised({ command, args, logFile: join(folder(), 'log'), cwd: folder() });

describe('startSupervised', () => {
  it('a parent killed with SIGKILL leaves no child and no folder behind', async () => {
    const module = join(import.meta.dirname, '../../../stack/supervised-process.ts');
    const program = `
      import { removeWhenGone, startSupervised } from ${JSON.stringify(module)};
      removeWhenGone(${JSON.stringify(folder())});
      const command = { command: 'sleep', args: ['600'], logFile: ${JSON.stringify(join(folder(), 'log'))}, cwd: ${JSON.stringify(folder())} };
      const child = await startSupervised(command);
      process.kill(child.pid, 'SIGSTOP');
      console.log(child.pid);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(isAlive(pid)).toBe(true);

    parent.kill('SIGKILL');
    await until(() => !isAlive(pid) && !existsSync(folder()));
  });

  it('the end of the command and its exit code are reported', async () => {
    const child = await startHere('/bin/sh', '-c', 'echo said; exit 7');
    expect(await child.exited).toBe(7);
    expect(child.isRunning()).toBe(false);
    expect(await readFile(join(folder(), 'log'), 'utf8')).toBe('said\n');
  });

  it('a signal reaches the command itself', async () => {
    const child = await startHere('sleep', '600');
    child.kill('SIGTERM');
    expect(await child.exited).toBe(128 + 15);
    expect(isAlive(child.pid)).toBe(false);
  });

  it('a signal to a command that has ended throws nothing', async () => {
    const child = await startHere('true');
    await child.exited;
    expect(() => child.kill('SIGKILL')).not.toThrow();
  });

  it('a command that does not exist ends with 127', async () => {
    const child = await startHere('/nowhere/redis-server');
    expect(await child.exited).toBe(127);
  });
});

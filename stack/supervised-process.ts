import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

const script = (name: string) => join(import.meta.dirname, `${name}.sh`);

export interface SupervisedCommand {
  command: string;
  args: readonly string[];
  /** Standard output and error are appended to it. */
  logFile: string;
  cwd: string;
}

export interface SupervisedProcess {
  /** The pid of the command itself, not of the shell that supervises it. */
  pid: number;
  isRunning(): boolean;
  /** Resolves with the exit code (128 + n after signal n) when the process has ended. */
  exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a command that ends with this process at the latest. It has its own session, so Ctrl-C does not reach it. */
export async function startSupervised({
  command,
  args,
  logFile,
  cwd,
}: SupervisedCommand): Promise<SupervisedProcess> {
  const log = await open(logFile, 'a');
  try {
    const shell = spawn('/bin/sh', [script('supervise'), command, ...args], {
      cwd,
      detached: true,
      stdio: ['pipe', log.fd, log.fd, 'pipe'],
    });
    shell.stdin?.on('error', () => undefined);
    let running = true;
    const exited = once(shell, 'exit').then(([code]) => {
      running = false;
      return typeof code === 'number' ? code : 128;
    });
    const pid = await readPid(shell);
    const kill = (signal: NodeJS.Signals) => {
      if (running) signalIfThere(pid, signal);
    };
    return { pid, isRunning: () => running, exited, kill };
  } finally {
    await log.close();
  }
}

/** Removes a folder when this process ends, even if it is killed. Call the result after a normal removal. */
export function removeWhenGone(folder: string): () => void {
  const shell = startWatcher('remove-when-gone', [folder], process.env);
  return () => shell.stdin?.end();
}

/** Runs a command when this process ends, even if it is killed, unless the result was called before. */
export function runWhenGone(command: string, args: readonly string[], env: NodeJS.ProcessEnv): () => void {
  const shell = startWatcher('run-when-gone', [command, ...args], env);
  return () => shell.stdin?.end('done\n');
}

function startWatcher(name: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const shell = spawn('/bin/sh', [script(name), ...args], {
    cwd: '/',
    env,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  return shell;
}

async function readPid(shell: ChildProcess): Promise<number> {
  const pipe = shell.stdio[3] as Readable;
  let text = '';
  for await (const chunk of pipe) text += String(chunk);
  return Number(text);
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

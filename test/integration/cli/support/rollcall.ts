import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { runProgram } from '../../../../src/cli/program.ts';
import { VERBS } from '../../../../src/cli/verbs.ts';

const MAIN = fileURLToPath(new URL('../../../../src/main.ts', import.meta.url));
const LONGEST_MS = 180_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What `--json` printed. */
  json<T>(): T;
}

/** A command line that runs. Disposing of it stops it. */
export interface Running extends AsyncDisposable {
  /** Resolves once stderr or stdout holds the text. */
  says(text: string): Promise<void>;
  /** Asks the status server of `run`. */
  get(path: string): Promise<Response>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
  /** Stops it as a service manager does. */
  stop(): Promise<Ended>;
}

/** Runs a command line in this process to its end, with a text as its configuration and nothing in its environment. */
export function rollcall(config: string, ...args: readonly string[]): Promise<Ended> {
  return startRollcall(config, ...args).ended;
}

/** Starts a command line in this process. Signals reach it alone; SIGKILL cannot. */
export function startRollcall(config: string, ...args: readonly string[]): Running {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said) => ({ write: (text: string) => void (said[name] += text) });
  const streams = { stdout: into('stdout'), stderr: into('stderr') };
  const host = Object.assign(new EventEmitter(), { ...streams, env: {}, exitCode: undefined });
  const file = configFile(config);
  const code = runProgram(['--config', file.path, ...args], VERBS, host).finally(file.remove);
  return running(said, code, (signal) => host.emit(signal, signal));
}

/** Starts `run` in this process, and waits until it owns the tenant. */
export async function startOwner(config: string): Promise<Running> {
  const owner = startRollcall(config, 'run');
  await owner.says('"mirroring"');
  return owner;
}

/** Starts the program as a process of its own, which can be killed. */
export function startProcess(config: string, ...args: readonly string[]): Running {
  const file = configFile(config);
  const process = spawnProgram([globalThis.process.execPath, MAIN, '--config', file.path, ...args]);
  void process.ended.finally(file.remove);
  return process;
}

/** Starts a program, which outlives no test. */
export function spawnProgram(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  // A test that fails before it ends the program does not wait for the time-out.
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return running(
    said,
    code.finally(() => process.off('exit', end)),
    (signal) => child.kill(signal),
  );
}

function configFile(text: string): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-verbs-'));
  const path = join(folder, 'rollcall.yaml');
  writeFileSync(path, text);
  return { path, remove: () => rmSync(folder, { recursive: true }) };
}

function running(
  said: { stdout: string; stderr: string },
  code: Promise<number | null>,
  kill: (signal: NodeJS.Signals) => unknown,
): Running {
  let isOver = false;
  const ended = code.then((code) => {
    isOver = true;
    return { code, ...said, json: <T>() => JSON.parse(said.stdout || said.stderr) as T };
  });
  const stop = (): Promise<Ended> => {
    if (!isOver) kill('SIGTERM');
    return ended;
  };
  return {
    async says(text) {
      const has = (): boolean => said.stdout.includes(text) || said.stderr.includes(text);
      await vi.waitUntil(() => has() || isOver, { timeout: LONGEST_MS, interval: 20 });
      if (!has()) throw new Error(`the program ended without saying "${text}": ${said.stderr}`);
    },
    get: (path) => fetch(`http://127.0.0.1:${/"port":(\d+)/.exec(said.stdout)?.[1] ?? ''}${path}`),
    kill: (signal) => void kill(signal),
    ended,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

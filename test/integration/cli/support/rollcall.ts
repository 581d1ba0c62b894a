import { EventEmitter } from 'node:events';
import { expect } from 'vitest';
import { runProgram } from '../../../../src/cli/program.ts';
import { VERBS } from '../../../../src/cli/verbs.ts';
import { configFile, Running, withPort, type Ended } from '../../support/running.ts';

/** Runs a command line in this process to its end. Its environment only names its configuration, which has this text. */
export function rollcall(config: string, ...args: readonly string[]): Promise<Ended> {
  return startRollcall(config, ...args).ended;
}

/** Starts a command line in this process. Signals reach it alone; SIGKILL cannot. */
export function startRollcall(config: string, ...args: readonly string[]): Running {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said) => ({ write: (text: string) => void (said[name] += text) });
  const streams = { stdout: into('stdout'), stderr: into('stderr') };
  const file = configFile(withPort(config));
  const env = { ROLLCALL_CONFIG: file.path };
  const host = Object.assign(new EventEmitter(), { ...streams, env, exitCode: undefined });
  const exit = runProgram(args, VERBS, host).finally(file.remove);
  return new Running({ said, exit, kill: (signal) => host.emit(signal, signal) });
}

/** Starts `run` in this process, and waits until it owns the tenant. */
export async function startOwner(config: string): Promise<Running> {
  const owner = startRollcall(config, 'run');
  await owner.says('"mirroring"');
  return owner;
}

/** What a command ends with: its exit code, and a part of what it has written to a stream. */
export const ending = (code: number, stream: 'stdout' | 'stderr', text: string) => ({
  code,
  [stream]: expect.stringContaining(text) as string,
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../stack/local-parts.ts';
import { runCommand } from '../stack/run-command.ts';

/** A peer that is ready to run, or why it is not. */
export type BuiltPeer = { readonly program: string } | { readonly reason: string };

export const PEERS_FOLDER = join(import.meta.dirname, 'peers');

interface Building {
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Builds Redpanda Connect with the components that its configurations need. Go fetches the modules as it is configured. */
export async function buildRedpandaConnect({ print, signal }: Building): Promise<BuiltPeer> {
  const go = await firstThatRuns(['go', '/usr/local/go/bin/go'], ['version']);
  if (go === null) return { reason: 'there is no Go here' };
  const program = join(cacheFolder(), 'peers', 'redpanda-connect');
  print('building Redpanda Connect; the first time takes minutes');
  const folder = join(PEERS_FOLDER, 'redpanda-connect');
  const { code, output } = await runCommand(go, ['build', '-C', folder, '-o', program, '.'], { signal });
  return code === 0 ? { program } : { reason: `go build failed: ${lastLine(output)}` };
}

/** Makes a virtual environment with dlt and what its destination needs. pip fetches the packages as it is configured. */
export async function buildDlt({ print, signal }: Building): Promise<BuiltPeer> {
  const python = await firstThatRuns(['python3'], ['--version']);
  if (python === null) return { reason: 'there is no Python 3 here' };
  const folder = join(cacheFolder(), 'peers', 'dlt');
  const program = join(folder, 'bin', 'python');
  if (!existsSync(program)) {
    const { code, output } = await runCommand(python, ['-m', 'venv', folder], { signal });
    if (code !== 0) return { reason: `the virtual environment was not made: ${lastLine(output)}` };
  }
  print('installing dlt');
  const requirements = join(PEERS_FOLDER, 'dlt', 'requirements.txt');
  const install = ['-m', 'pip', 'install', '--quiet', '--requirement', requirements];
  const { code, output } = await runCommand(program, install, { signal });
  return code === 0 ? { program } : { reason: `pip install failed: ${lastLine(output)}` };
}

async function firstThatRuns(commands: readonly string[], args: readonly string[]): Promise<string | null> {
  for (const command of commands) if ((await runCommand(command, args)).code === 0) return command;
  return null;
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

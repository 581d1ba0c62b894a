import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { runCommand } from '../../../stack/run-command.ts';
import { exampleFile } from './example-process.ts';

const requirements = exampleFile('python/requirements.txt');
const environment = fileURLToPath(
  new URL(
    `../../../node_modules/.cache/python-${createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)}`,
    import.meta.url,
  ),
);
/** The interpreter with the libraries of examples/python, once {@link buildPython} has installed them. */
export const PYTHON = join(environment, 'bin', 'python');

/** Installs what requirements.txt names, once for each content of it and for all test files that run at a time. */
export async function buildPython(): Promise<void> {
  await withPidLock(`${environment}.lock`, async () => {
    const isMade = join(environment, 'complete');
    if (existsSync(isMade)) return;
    await succeed('python3', ['-m', 'venv', environment]);
    await succeed(PYTHON, ['-m', 'pip', 'install', '--quiet', '-r', requirements]);
    writeFileSync(isMade, '');
  });
}

/** Runs a command to its end. Throws, with what it said, unless it exits with 0. */
export async function succeed(command: string, args: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(command, [...args]);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${output}`);
}

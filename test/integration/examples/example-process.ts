import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { findMaven } from '../../../stack/java-tools.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { spawnProgram, type Running } from '../support/running.ts';

/** Path of a file of examples/. */
export function exampleFile(name: string): string {
  return fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
}

/** A program of examples/, run as its header says. */
export function startProgram(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const { kafkaBrokers, registryUrl } = inject('stack');
  return spawnProgram(command, {
    ...process.env,
    NODE_OPTIONS: undefined,
    ROLLCALL_KAFKA_BROKERS: kafkaBrokers.join(','),
    ROLLCALL_REGISTRY_URL: registryUrl,
    ...env,
  });
}

const requirements = exampleFile('python/requirements.txt');
const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
const environment = fileURLToPath(new URL(`../../../node_modules/.cache/python-${version}`, import.meta.url));
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

/** Builds a project in Java and runs its own tests, as a user would: the libraries come from Maven Central. */
export async function buildJava(project: string): Promise<void> {
  await succeed(findMaven(), ['-B', '-q', '-f', exampleFile(`${project}/pom.xml`), 'package']);
}

async function succeed(command: string, args: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${output}`);
}

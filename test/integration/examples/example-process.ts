import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
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

const sources = ['make.sh', 'requirements.txt'].map((name) => exampleFile(`python/${name}`));
const schemas = globSync(fileURLToPath(new URL('../../../avro/*.avsc', import.meta.url))).toSorted();
const digest = [...sources, ...schemas].reduce(
  (hash, path) => hash.update(readFileSync(path)),
  createHash('sha256'),
);
const version = digest.digest('hex').slice(0, 12);
const environment = fileURLToPath(new URL(`../../../node_modules/.cache/python-${version}`, import.meta.url));
/** The interpreter with the libraries of examples/python, once {@link buildPython} has installed them. */
export const PYTHON = join(environment, 'bin', 'python');

/** Runs make.sh, once for each content of it, of requirements.txt and of the schemas, and for all test files that run at a time. */
export async function buildPython(): Promise<void> {
  await withPidLock(`${environment}.lock`, async () => {
    const isMade = join(environment, 'complete');
    if (existsSync(isMade)) return;
    await succeed(exampleFile('python/make.sh'), [environment]);
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

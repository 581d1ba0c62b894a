import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { findMaven } from '../../../stack/java-tools.ts';
import { runCommand } from '../../../stack/run-command.ts';

const GIVE_UP_AFTER_MS = 180_000;

/** A program of examples/, run as its header says. Disposing of it kills it. */
export interface ExampleProcess extends AsyncDisposable {
  /** Lines on standard output so far. */
  lines(): readonly string[];
  /** Both streams so far. */
  said(): string;
  /** Waits until a condition holds; fails with the whole output when the process ends before. */
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Resolves with its exit code, null where a signal ended it, once all output was read. */
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Path of a file of examples/. */
export function exampleFile(name: string): string {
  return fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
}

export function startProgram({ command, args, env }: Program): ExampleProcess {
  const { kafkaBrokers, registryUrl } = inject('stack');
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: undefined,
      ROLLCALL_KAFKA_BROKERS: kafkaBrokers.join(','),
      ROLLCALL_REGISTRY_URL: registryUrl,
      ...env,
    },
  });
  // An interrupted test run leaves no process behind.
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  let hasEnded = false;
  const ended = once(child, 'close').then(([code]) => {
    hasEnded = true;
    process.off('exit', killWithUs);
    return code as number | null;
  });
  const said = (): string => `${output}\n${errors}`;
  const kill = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  return {
    lines: () => output.split('\n').slice(0, -1),
    said,
    async until(what, isSo) {
      const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
      for (;;) {
        // This is read first, so that the last output still counts.
        const isOver = hasEnded || performance.now() > giveUpAtMs;
        if (await isSo()) return;
        if (isOver)
          throw new Error(`${args.join(' ')} ended or took too long before: ${what}. It said:\n${said()}`);
        await delay(50);
      }
    },
    ended,
    kill,
    async [Symbol.asyncDispose]() {
      await kill('SIGKILL');
    },
  };
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

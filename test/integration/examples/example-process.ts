import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

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
  kill(signal: NodeJS.Signals): Promise<void>;
}

const GIVE_UP_AFTER_MS = 180_000;

/** Path of a file of examples/. */
export function exampleFile(name: string): string {
  return fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
}

/**
 * A program in TypeScript; with `launcher: 'npm'` as `npm run example` starts it, and otherwise without a process between,
 * which a test can kill.
 */
export function startExample(
  name: string,
  args: readonly string[],
  { launcher }: { launcher?: 'npm' } = {},
): ExampleProcess {
  const setup = fileURLToPath(new URL('../../../scripts/with-setup.mjs', import.meta.url));
  const before = launcher === 'npm' ? [setup] : [];
  return startProgram({ name, command: process.execPath, args: [...before, exampleFile(name), ...args] });
}

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export function startProgram({ name, command, args, env }: Program): ExampleProcess {
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
  return {
    lines: () => output.split('\n').slice(0, -1),
    said,
    async until(what, isSo) {
      const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
      for (;;) {
        // This is read first, so that the last output still counts.
        const isOver = hasEnded || performance.now() > giveUpAtMs;
        if (await isSo()) return;
        if (isOver) throw new Error(`${name} ended or took too long before: ${what}. It said:\n${said()}`);
        await delay(50);
      }
    },
    ended,
    async kill(signal) {
      child.kill(signal);
      await ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

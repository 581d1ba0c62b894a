import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../../src/main.ts', import.meta.url));
const LONGEST_MS = 180_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  /** Resolves once stderr or stdout holds the text. */
  says(text: string): Promise<void>;
  /** Both streams so far. */
  output(): string;
  kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void;
  readonly ended: Promise<Ended>;
}

/** Starts the program as a user does, as a process of its own that outlives no test. */
export function startRollcall(
  configPath: string,
  args: readonly string[],
  {
    longestMs = LONGEST_MS,
    program = [process.execPath, MAIN],
    env = {},
  }: {
    readonly longestMs?: number;
    /** Another way to start it. */
    readonly program?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Running {
  const [command = '', ...first] = program;
  const child = spawn(command, [...first, '--config', configPath, ...args], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: longestMs,
    killSignal: 'SIGKILL',
  });
  // A test that fails before it ends the program does not wait for the time-out.
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
  let stdout = '';
  let stderr = '';
  let waiting: { text: string; resolve: () => void }[] = [];
  const report = (): void => {
    const met = waiting.filter(({ text }) => stdout.includes(text) || stderr.includes(text));
    waiting = waiting.filter((each) => !met.includes(each));
    for (const { resolve } of met) resolve();
  };
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    report();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    report();
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  const endedSaying = async (text: string): Promise<void> => {
    await ended;
    if (!stdout.includes(text) && !stderr.includes(text))
      throw new Error(`the program ended without saying "${text}": ${stderr}`);
  };
  return {
    async says(text) {
      const said = new Promise<void>((resolve) => {
        waiting.push({ text, resolve });
        report();
      });
      await Promise.race([said, endedSaying(text)]);
    },
    output: () => stdout + stderr,
    kill: (signal) => child.kill(signal),
    ended,
  };
}

/** Runs the program to its end. */
export function rollcall(configPath: string, ...args: readonly string[]): Promise<Ended> {
  return startRollcall(configPath, args).ended;
}

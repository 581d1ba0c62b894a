import { spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../../../bin/rollcall.mjs', import.meta.url));
const LONGEST_MS = 180_000;

/** An exit code, or the signal that ended the process. */
type Exit = number | NodeJS.Signals | null;

export interface Ended {
  readonly code: Exit;
  readonly stdout: string;
  readonly stderr: string;
  /** What `--json` printed. */
  json<T>(): T;
}

interface Source {
  readonly said: { stdout: string; stderr: string };
  /** Resolves when it has ended and all its output was read. */
  readonly exit: Promise<Exit>;
  readonly kill: (signal: NodeJS.Signals) => unknown;
  readonly pid?: number | undefined;
}

/** A command line or another program that runs. Disposing of it ends it. */
export class Running implements AsyncDisposable {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly #source: Source;
  #isOver = false;

  constructor(source: Source) {
    this.#source = source;
    const { said, exit } = source;
    this.pid = source.pid ?? process.pid;
    this.ended = exit.then((code) => {
      this.#isOver = true;
      return { code, ...said, json: <T>() => JSON.parse(said.stdout || said.stderr) as T };
    });
  }

  /** The output of both streams so far. */
  output(): string {
    return this.#source.said.stdout + this.#source.said.stderr;
  }

  /** Whole lines on standard output so far. */
  lines(): readonly string[] {
    return this.#source.said.stdout.split('\n').slice(0, -1);
  }

  /** Waits until a condition holds; fails with the whole output when it ends or too much time passes before. */
  async until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = LONGEST_MS): Promise<void> {
    const giveUpAtMs = performance.now() + withinMs;
    for (;;) {
      // This is read first, so that the last output still counts.
      const isOver = this.#isOver || performance.now() > giveUpAtMs;
      if (await isSo()) return;
      if (isOver) throw new Error(`it ended or took too long before ${what}, and said:\n${this.output()}`);
      await delay(20);
    }
  }

  says(text: string, withinMs?: number): Promise<void> {
    const { said } = this.#source;
    const has = (): boolean => said.stdout.includes(text) || said.stderr.includes(text);
    return this.until(`it said "${text}"`, has, withinMs);
  }

  /** Asks the server of `run`. Rejects while there is none. */
  get(path: string): Promise<Response> {
    const port = /"port":(\d+)/.exec(this.#source.said.stdout)?.[1];
    return fetch(`http://127.0.0.1:${port}${path}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#source.kill(signal);
  }

  /** Waits for its end; throws, with its output, where that is another one. */
  async endsWith(expected: Exit): Promise<void> {
    const { code } = await this.ended;
    if (code !== expected)
      throw new Error(`it ended with ${code}, not ${expected}, and said:\n${this.output()}`);
  }

  /** Stops it as a service manager does, or by another signal. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    if (!this.#isOver) this.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(this.#source.pid === undefined ? 'SIGTERM' : 'SIGKILL');
  }
}

/** Starts a program, which outlives no test. */
export function spawnProgram(
  [command = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {
    ...process.env,
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
    NODE_OPTIONS: undefined,
  },
): Running {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  // An interrupted test run leaves no process behind.
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text));
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  return new Running({
    said,
    exit: exit.finally(() => process.off('exit', killWithUs)),
    kill: (signal) => child.kill(signal),
    pid: child.pid ?? 0,
  });
}

/** The configuration with a free port for its probes, unless it names one. */
export function withPort(config: string): string {
  return JSON.stringify({ http: { port: 0 }, ...(JSON.parse(config) as object) });
}

/** A file, such as a configuration, that is replaced in one step. */
export function configFile(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
  const path = join(folder, 'rollcall.yaml');
  const write = (other: string): void => {
    writeFileSync(`${path}.new`, other);
    renameSync(`${path}.new`, path);
  };
  write(text);
  return { path, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A process with a configuration of its own. */
export type RollcallProcess = Running & {
  /** Replaces its configuration, in one step. */
  configure(config: string): void;
};

/** `rollcall <verb>` as a process of its own. */
export function startProcess(config: string, ...args: readonly string[]): RollcallProcess {
  return startNode(config, (path) => [PROGRAM, ...args, '--config', path]);
}

/** A Node with arguments of its own. */
export function startNode(
  config: string,
  argsOf: (configPath: string) => readonly string[],
): RollcallProcess {
  const file = configFile(withPort(config));
  const running = spawnProgram([process.execPath, ...argsOf(file.path)]);
  void running.ended.finally(file.remove);
  return Object.assign(running, { configure: (text: string) => file.write(withPort(text)) });
}

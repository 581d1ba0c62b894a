import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../../bin/rollcall.mjs', import.meta.url));

/** A process with a configuration of its own. Disposing of it kills it. */
export interface RollcallProcess extends AsyncDisposable {
  readonly pid: number;
  /** Waits for its end; throws, with its output, when it ends with another code or by another signal. */
  endsWith(expected: number | NodeJS.Signals): Promise<void>;
  /** The output of both streams so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** Replaces the file of its configuration, in one step. */
  configure(configText: string): Promise<void>;
  /** Waits until the output holds the text; fails early when the process ends without it. */
  says(text: string, withinMs?: number): Promise<void>;
  /** Status and reasons of `/readyz`; null while nothing listens. */
  readiness(): Promise<{ status: number; text: string } | null>;
}

/** `rollcall <verb>`, in a Node with these options. */
export async function startRollcall(
  args: readonly string[],
  configText: string,
  nodeOptions: readonly string[] = [],
): Promise<RollcallProcess> {
  return startNode((path) => [...nodeOptions, PROGRAM, ...args, '--config', path], configText);
}

/** A script of the tests; its first argument is the configuration's path. */
export async function startScript(
  script: URL,
  options: { configText: string; args: readonly string[] },
): Promise<RollcallProcess> {
  return startNode((path) => [fileURLToPath(script), path, ...options.args], options.configText);
}

/** `configText` gets a free port for its probes, unless it names one. */
async function startNode(
  argsOf: (configPath: string) => readonly string[],
  configText: string,
): Promise<RollcallProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'));
  const path = join(directory, 'rollcall.yaml');
  const configure = async (text: string): Promise<void> => {
    const config = { http: { port: 0 }, ...(JSON.parse(text) as object) };
    await writeFile(`${path}.new`, JSON.stringify(config));
    await rename(`${path}.new`, path);
  };
  await configure(configText);
  const child = spawn(process.execPath, argsOf(path), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, NODE_OPTIONS: undefined },
  });
  // An interrupted test run leaves no process behind.
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      written += text;
    });
  }
  const ending = endOf(child);
  let port: string | undefined;
  return {
    pid: child.pid ?? 0,
    configure,
    async endsWith(expected) {
      const end = await ending;
      if (end === expected) return;
      throw new Error(`It ended with ${String(end)}, not ${expected}, and said:\n${written}`);
    },
    output: () => written,
    kill: (signal) => child.kill(signal),
    async says(text, withinMs = 180_000) {
      await vi.waitFor(
        () => {
          if (written.includes(text)) return;
          throw new Error(`"${text}" was not said, but:\n${written}`);
        },
        { timeout: withinMs, interval: 50 },
      );
    },
    async readiness() {
      port ??= /"port":(\d+)/.exec(written)?.[1];
      if (port === undefined) return null;
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      return { status: response.status, text: await response.text() };
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ending;
      process.off('exit', killWithUs);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Resolves only after all its output has been read. */
function endOf(child: ChildProcess): Promise<number | NodeJS.Signals | null> {
  return new Promise((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
}

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { loadConfig, type Config } from '../config.ts';
import { handOverStop } from './early-stop.mjs';
import { createOutput, type Output } from './output.ts';
import { reportError } from './report-error.ts';

const DEFAULT_CONFIG = './rollcall.yaml';

/** Options that every verb understands, before or after the verb. */
interface GlobalOptions {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
  /** False for `--no-color`. */
  readonly color?: boolean | undefined;
}

/** What every verb receives. */
export interface VerbContext {
  readonly output: Output;
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of the configuration as given on the command line or in the environment. */
  readonly configPath: string;
  /** Loads the configuration. `withoutHub`: the hub's credentials need no value. Throws `CONFIG_INVALID`. */
  loadConfig(options?: { readonly withoutHub: true }): Config;
}

export interface VerbInput<Options> {
  /** Arguments of the verb, in order, with every value of a variadic one; undefined for an omitted optional one. */
  readonly args: readonly (string | undefined)[];
  readonly options: Options;
}

/**
 * Wraps a verb: it provides output, signals and configuration, and reports errors. The body returns the exit code
 * (nothing: 0) or throws.
 */
export function verbAction<Options extends object = Record<string, unknown>>(
  body: (context: VerbContext, input: VerbInput<Options>) => Promise<number | void>,
): (...parameters: unknown[]) => Promise<void> {
  return async (...parameters) => {
    // Commander passes the arguments, the options and, last, the command.
    const command = parameters.at(-1) as Command;
    const options = command.optsWithGlobals<Options & GlobalOptions>();
    using stop = listenForStop();
    try {
      const context = contextOf(options, stop.signal);
      const args = parameters.slice(0, -2).flat() as (string | undefined)[];
      process.exitCode = (await body(context, { args, options })) ?? 0;
    } catch (error) {
      process.exitCode = reportError(error, {
        stderr: process.stderr,
        env: process.env,
        color: options.color,
        stopped: stop.signal.aborted,
      });
    }
  };
}

/**
 * SIGTERM and SIGINT as an AbortSignal; the second one ends the process at once. From now on the listeners of
 * early-stop.mjs, which end a process at once that has not begun its work, do nothing.
 */
function listenForStop(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const listener = (): void => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort();
    if (process.stderr.isTTY) process.stderr.write('\nStopping; press Ctrl-C again to stop at once.\n');
  };
  process.on('SIGINT', listener);
  process.on('SIGTERM', listener);
  handOverStop();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    },
  };
}

function contextOf(options: GlobalOptions, signal: AbortSignal): VerbContext {
  const configPath = options.config ?? (process.env['ROLLCALL_CONFIG'] || DEFAULT_CONFIG);
  return {
    output: createOutput({
      streams: process,
      env: process.env,
      json: options.json ?? false,
      color: options.color,
      nowMs: () => performance.now(),
    }),
    signal,
    env: process.env,
    configPath,
    loadConfig: (how) =>
      loadConfig({
        path: configPath,
        env: process.env,
        readFile: (path) => readFileSync(path, 'utf8'),
        ...how,
      }),
  };
}

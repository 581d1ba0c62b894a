import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { loadConfig, type Config, type ConfigSources } from '../config.ts';
import { RunningConfig } from '../config/running-config.ts';
import { handOverStop } from '../../bin/early-stop.mjs';
import { createOutput, type Host, type Output } from './output.ts';
import { reportError } from './report-error.ts';

const DEFAULT_CONFIG = './rollcall.yaml';

/** Options that every verb understands, before or after the verb. */
interface GlobalOptions {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
  /** False for `--no-color`. */
  readonly color?: boolean | undefined;
  /** Set by the program: no option of the command line can have this name. */
  readonly '#host': Host;
}

/** The objects that the code of a verb works with. */
export interface Verb<Flags = object> {
  readonly host: Host;
  readonly output: Output;
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Path of the configuration as given on the command line or in the environment. */
  readonly configPath: string;
  /** Loads the configuration. Throws `CONFIG_INVALID`. */
  readonly loadConfig: (options?: Pick<ConfigSources, 'without'>) => Config;
  /** Loads the configuration, to follow its changes while the process runs. Throws `CONFIG_INVALID`. */
  readonly openConfig: () => RunningConfig;
  /** Arguments, in order. */
  readonly args: readonly string[];
  /** Options by name. */
  readonly flags: Flags;
}

/**
 * Wraps a verb: it provides output, signals and configuration, and reports errors. The body returns the exit code
 * (nothing: 0) or throws.
 */
export function verbAction<Flags extends object>(
  body: (verb: Verb<Flags>) => Promise<number | void>,
): (...parameters: unknown[]) => Promise<void> {
  return async (...parameters) => {
    // Commander passes the arguments, the options and, last, the command.
    const command = parameters.at(-1) as Command;
    const flags = command.optsWithGlobals<Flags & GlobalOptions>();
    const { color, config, json = false, '#host': host } = flags;
    const path = config ?? (host.env['ROLLCALL_CONFIG'] || DEFAULT_CONFIG);
    using stop = listenForStop(host);
    const sources = { path, env: host.env, readFile: (each: string) => readFileSync(each, 'utf8') };
    const verb: Verb<Flags> = {
      host,
      output: createOutput({ host, json, color, config, nowMs: () => performance.now() }),
      signal: stop.signal,
      configPath: path,
      loadConfig: (how) => loadConfig({ ...sources, ...how }),
      openConfig: () => new RunningConfig(sources),
      args: command.args,
      flags,
    };
    try {
      host.exitCode = (await body(verb)) ?? 0;
    } catch (error) {
      host.exitCode = reportError(error, { host, color, config, stopped: stop.signal.aborted });
    }
  };
}

/**
 * SIGTERM and SIGINT as an AbortSignal. If a SIGINT follows either of them, the process ends at once. (A second SIGTERM
 * changes nothing: a supervisor may send SIGTERM to a process and to its parent, which passes the signal on.) The
 * listeners of bin/early-stop.mjs end a process that has not begun its work. From now on they do nothing.
 */
function listenForStop(host: Host): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const listener = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted && signal === 'SIGINT') process.exit(1);
    controller.abort();
    if (host.stderr.isTTY) host.stderr.write('\nStopping; press Ctrl-C again to stop at once.\n');
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) host.on(signal, listener);
  handOverStop();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const signal of signals) host.off(signal, listener);
    },
  };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { IMAGE_ENV, IMAGE_FLAGS } from './child-process.ts';

/** `rollcall run` in a process of its own, started as in the image. */
export interface RollcallProcess extends AsyncDisposable {
  /** User and system time of all threads so far, in seconds; Linux counts hundredths. */
  cpuSeconds(): number;
  /** Resident size now, MiB. */
  residentMiB(): number;
  /** Resolves when no full sync and no change has been logged for some seconds. */
  loaded(signal: AbortSignal): Promise<void>;
}

const PROJECT = join(import.meta.dirname, '..');
const TICKS_A_SECOND = 100;
const QUIET_MS = 5_000;
const POLL_MS = 100;

interface LogLine {
  readonly msg?: string;
}

export function startRollcall(configFile: string): RollcallProcess {
  const { NODE_OPTIONS = '', ...env } = process.env;
  const child = spawn(
    process.execPath,
    [join(PROJECT, 'bin', 'rollcall.mjs'), 'run', '--config', configFile],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...env, ...IMAGE_ENV, NODE_OPTIONS: `${NODE_OPTIONS} ${IMAGE_FLAGS.join(' ')}`.trim() },
    },
  );
  const exited = once(child, 'exit');
  const last = { syncAtMs: Number.POSITIVE_INFINITY };
  createInterface({ input: child.stdout }).on('line', (text) => {
    if ((JSON.parse(text) as LogLine).msg === 'a sync ended') last.syncAtMs = performance.now();
  });
  const read = (file: string): string => readFileSync(`/proc/${child.pid}/${file}`, 'utf8');
  return {
    cpuSeconds() {
      // utime and stime are the 14th and 15th field; the second is a name in brackets
      const fields = read('stat').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
    },
    residentMiB: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(read('status'))?.[1]) / 1_024,
    async loaded(signal) {
      // syncs without a change, which come later, are not in the log
      while (performance.now() - last.syncAtMs < QUIET_MS) {
        if (child.exitCode !== null) throw new Error(`rollcall run ended with code ${child.exitCode}`);
        await delay(POLL_MS, undefined, { signal });
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}

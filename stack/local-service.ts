import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StackError } from './errors.ts';
import { startSupervised, type SupervisedProcess } from './supervised-process.ts';

export interface ServiceCommand {
  /** Its name in messages. */
  name: string;
  command: string;
  args: readonly string[];
  /** An existing separate folder: the working folder, with the log file. */
  folder: string;
  /** Whether it works, and does not only listen. */
  isReady: (signal: AbortSignal) => Promise<boolean>;
  readyTimeoutMs: number;
  stopTimeoutMs: number;
  afterStop?: (() => Promise<void>) | undefined;
}

/** A part of the stack that runs as a local process. */
export interface LocalService {
  /** Changes with every restart. */
  readonly pid: number;
  readonly logFile: string;
  isRunning(): boolean;
  /** Sends a signal: SIGKILL for a crash, SIGSTOP and SIGCONT for a hang. */
  kill(signal: NodeJS.Signals): void;
  /** Kills it if it still runs, starts it again with the same port and data, and waits until it is ready. */
  restart(): Promise<void>;
  /** Sends SIGTERM, and after a time-out SIGKILL. */
  stop(): Promise<void>;
}

/**
 * Starts a service and waits until it is ready.
 *
 * @throws StackError with the end of its log when it ends before it is ready, or takes too long.
 */
export async function startLocalService(command: ServiceCommand, signal: AbortSignal): Promise<LocalService> {
  const logFile = join(command.folder, 'output.log');
  let current = await startAndWait(command, logFile, signal);
  return {
    get pid() {
      return current.pid;
    },
    logFile,
    isRunning: () => current.isRunning(),
    kill: (name) => current.kill(name),
    async restart() {
      current.kill('SIGKILL');
      await current.exited;
      current = await startAndWait(command, logFile, signal);
    },
    async stop() {
      await stopProcess(current, command.stopTimeoutMs);
      await command.afterStop?.();
    },
  };
}

/**
 * Starts several services at once. When one fails, the wait for the others ends, those that have started are stopped, and its
 * error is thrown.
 */
export async function startTogether<Started extends { stop(): Promise<void> }>(
  starts: readonly ((signal: AbortSignal) => Promise<Started>)[],
  signal: AbortSignal,
): Promise<Started[]> {
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const outcomes = await Promise.allSettled(
    starts.map(async (start) => {
      try {
        return await start(either);
      } catch (error) {
        failure.abort(error);
        throw error;
      }
    }),
  );
  const started = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  if (!failure.signal.aborted) return started;
  await Promise.all(started.map((each) => each.stop()));
  signal.throwIfAborted();
  throw failure.signal.reason;
}

async function startAndWait(
  command: ServiceCommand,
  logFile: string,
  signal: AbortSignal,
): Promise<SupervisedProcess> {
  signal.throwIfAborted();
  const { command: file, args, folder: cwd } = command;
  const running = await startSupervised({ command: file, args, logFile, cwd });
  try {
    await waitUntilReady(command, running, signal);
  } catch (error) {
    running.kill('SIGKILL');
    await running.exited;
    if (signal.aborted) throw error;
    const log = await readFile(logFile, 'utf8');
    const tail = log.trimEnd().split('\n').slice(-15).join('\n');
    throw new StackError(`${(error as Error).message}. The end of its log:\n${tail}`);
  }
  return running;
}

async function waitUntilReady(
  command: ServiceCommand,
  running: SupervisedProcess,
  signal: AbortSignal,
): Promise<void> {
  const started = performance.now();
  while (!(await command.isReady(signal).catch(() => false))) {
    signal.throwIfAborted();
    if (!running.isRunning())
      throw new Error(`${command.name} ended with code ${await running.exited} while starting`);
    const waitedMs = performance.now() - started;
    if (waitedMs > command.readyTimeoutMs)
      throw new Error(`${command.name} was not ready after ${Math.round(waitedMs / 1000)} s`);
    await sleep(50, undefined, { signal });
  }
}

async function stopProcess(running: SupervisedProcess, timeoutMs: number): Promise<void> {
  running.kill('SIGTERM');
  running.kill('SIGCONT');
  const timer = setTimeout(() => running.kill('SIGKILL'), timeoutMs);
  await running.exited;
  clearTimeout(timer);
}

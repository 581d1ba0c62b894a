import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ENVIRONMENT, NODE_FLAGS } from '../bin/bounded-memory.mjs';

/** A separate process that runs one command at a time, so that its CPU time and memory can be measured alone. */
export interface Child extends AsyncDisposable {
  /** Resolves with the result of the named handler; rejects when it fails or the process has ended. */
  call<T>(name: string, argument?: unknown): Promise<T>;
}

export interface Command {
  readonly name: string;
  readonly argument: unknown;
}

type Outcome = { readonly result: unknown } | { readonly error: string };

const LONGEST_STOP_MS = 20_000;

/** Starts a module that calls {@link serveCommands}. The signal interrupts its current command. */
export function startChild(module: URL, signal: AbortSignal): Child {
  const child = fork(module, {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...ENVIRONMENT },
    execArgv: [...process.execArgv, ...NODE_FLAGS],
  });
  const interrupt = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', interrupt, { once: true });
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => ({
    error: `${module.pathname.split('/').at(-1)} ended too early (${String(code ?? signal)})`,
  }));
  return {
    async call<T>(name: string, argument?: unknown): Promise<T> {
      const answered = once(child, 'message').then(([outcome]) => outcome as Outcome);
      child.send({ name, argument } satisfies Command);
      const outcome = await Promise.race([answered, ended]);
      if ('error' in outcome) throw new Error(outcome.error);
      return outcome.result as T;
    },
    async [Symbol.asyncDispose]() {
      await stopped(child, ended);
    },
  };
}

async function stopped(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const killer = setTimeout(() => child.kill('SIGKILL'), LONGEST_STOP_MS);
  // A child ends when it loses the channel.
  if (child.connected) child.disconnect();
  await ended;
  clearTimeout(killer);
}

/** The side of the child: runs commands, and ends with its parent. */
export function serveCommands(options: {
  handlers: Readonly<Record<string, (argument: never) => Promise<unknown>>>;
  /** Makes the current command fail soon. */
  interrupt: () => void;
  atEnd: () => Promise<void>;
}): void {
  const { handlers, interrupt, atEnd } = options;
  process.on('message', (message) => {
    void answer(message as Command, handlers).then((outcome) => process.send?.(outcome));
  });
  process.on('disconnect', () => {
    void atEnd().finally(() => process.exit());
  });
  // Ctrl-C reaches all processes of the group: the parent decides what happens.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', interrupt);
}

async function answer(
  { name, argument }: Command,
  handlers: Readonly<Record<string, (argument: never) => Promise<unknown>>>,
): Promise<Outcome> {
  try {
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`there is no command ${name}`);
    return { result: await handler(argument as never) };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

import { runProgram } from './program.ts';
import type { Verb } from './verb.ts';

/** How long open connections may keep a finished program alive. */
const LINGER_MS = 2000;

/** Runs the command line of this process, and ends the process with its exit code. */
export async function runProcess(verbs: readonly Verb[]): Promise<void> {
  // A reader that closed the pipe (`rollcall tail | head`) is no failure.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
  }
  process.exitCode = await runProgram(process.argv.slice(2), verbs);
  // The verb has removed its listeners: a signal now only shortens the wait.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit());
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

import { RollcallError } from '../src/errors.ts';
import { StackError } from '../stack/errors.ts';

/** Does the work of a program. What it resolves with becomes the exit code; Ctrl-C aborts the signal, and is no failure. */
export async function runProgram(work: (interrupted: AbortSignal) => Promise<number>): Promise<void> {
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());
  try {
    process.exitCode = await work(interrupt.signal);
  } catch (error) {
    if (interrupt.signal.aborted) return;
    const isKnown = error instanceof StackError || error instanceof RollcallError;
    process.stderr.write(`✗ ${isKnown ? error.message : String((error as Error).stack ?? error)}\n`);
    if (error instanceof RollcallError) process.stderr.write(`→ ${error.remedy}\n`);
    process.exitCode = 1;
  }
}

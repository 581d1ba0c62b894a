import { spawn } from 'node:child_process';

export interface CommandOptions {
  onOutput?: ((chunk: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  timeoutMs?: number | undefined;
}

export interface CommandResult {
  /** Null when the command could not be started, or a signal ended it. */
  code: number | null;
  /** The last 16,000 characters of standard output and error. */
  output: string;
}

/** Runs a command to its end. Rejects only when `signal` aborts; for a command that does not start, the code is null. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { onOutput, signal, env, timeoutMs } = options;
  signal?.throwIfAborted();
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(signal && { signal }),
    ...(env && { env }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs, killSignal: 'SIGKILL' as const }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      output = (output + chunk).slice(-16_000);
      onOutput?.(chunk);
    });
  }
  const result = await new Promise<CommandResult>((resolve) => {
    child.on('error', (error) => resolve({ code: null, output: error.message }));
    child.on('close', (code) => resolve({ code, output }));
  });
  signal?.throwIfAborted();
  return result;
}
